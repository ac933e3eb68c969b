// How position tables of weights come to another grid.
#pragma once

#include <string>

#include "base/fields.h"
#include "models/checkpoints/pretrained.h"

namespace fovea {

struct PositionTableOptions {
  PosResize resize = PosResize::automatic;
  std::string grid{};  ///< HxW; empty: as the weights say it
};

/// `options` must live as long as the fields are used.
void add_fields(FieldGroup& group, PositionTableOptions& options);
/// Puts them into `how`. Throws UsageError on a grid that is none.
void apply(const PositionTableOptions& options, LoadOptions& how);

}  // namespace fovea
