// JSON from files that anyone may have written, and to files whatever the texts hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace fovea {

/// Copying and printing a value take stack for each level, so a deep one must not come to be.
inline constexpr int kMaxNesting = 16;

/// The value of a text; is_discarded() where it is no JSON, or nested deeper than kMaxNesting.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

/// The value as text, never a failure: bytes that are no UTF-8 become U+FFFD. On one line, or with
/// `indent` blanks a level.
[[nodiscard]] std::string json_text(const nlohmann::json& value, int indent = -1);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// A string of a file as it may stand in a message of one line: escaped and not too long.
[[nodiscard]] std::string in_quotes(const std::string& text);

}  // namespace fovea
