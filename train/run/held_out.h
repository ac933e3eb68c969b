// The images that a run held out for validation, kept with its weights.
#pragma once

#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/sources/subset.h"
#include "engine/formats/metadata.h"

namespace fovea {

struct HeldOut {
  HoldOut how{};     ///< the rule that chose them
  std::string list;  ///< their digest, see list_digest()
};

/// SHA-256 of a data set's ImageList: equal for the same images in the same order.
[[nodiscard]] std::string list_digest(const Dataset& dataset);

void add_held_out(Metadata& metadata, const HeldOut& held_out);
/// Empty if the metadata have none. Throws Error, starting with `context`, if it is not valid.
[[nodiscard]] std::optional<HeldOut> held_out(const Metadata& metadata, const std::string& context);

}  // namespace fovea
