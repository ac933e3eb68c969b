// Options for resizing the position tables of loaded weights to another grid.
#pragma once

#include <string>

#include "engine/base/fields.h"
#include "models/checkpoints/pretrained.h"

namespace fovea {

struct PositionTableOptions {
  PosResize resize = PosResize::automatic;
  std::string grid{};  ///< HxW; empty: taken from the weights
};

/// `options` must outlive the fields.
void add_fields(FieldGroup& group, PositionTableOptions& options);
/// Copies the options into `how`. Throws UsageError if the grid is invalid.
void apply(const PositionTableOptions& options, LoadOptions& how);

}  // namespace fovea
