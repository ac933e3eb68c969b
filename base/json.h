// JSON from files that anyone may have written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace fovea {

/// Copying and printing a value take stack for each level, so a deep one must not come to be.
inline constexpr int kMostNesting = 16;

/// The value of a text; is_discarded() where it is no JSON, or nested deeper than kMostNesting.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

}  // namespace fovea
