// JSON from files that anyone may have written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace fovea {

/// The value of a text; is_discarded() where it is no JSON, or nested deeper than 64. Copying and
/// printing a value take stack for each level, so a deep one must not come to be.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

}  // namespace fovea
