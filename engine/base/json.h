// JSON parsing that is safe on untrusted files, and JSON output that is valid for any bytes.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace fovea {

/// Copying and printing a value use stack for each level, so parsing rejects deeper values.
inline constexpr int kMaxNesting = 16;

/// The value of a text; is_discarded() when it is not JSON or nested deeper than kMaxNesting.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

/// Finds names that an object has twice, of which a parser silently keeps the last: call it from a
/// parser's callback with the callback's depth, at most kMaxNesting.
class DistinctNames {
 public:
  /// At the start of an object.
  void begin(int depth) { seen_[static_cast<std::size_t>(depth) + 1].clear(); }
  [[nodiscard]] bool is_new(int depth, const std::string& name) {
    return seen_[static_cast<std::size_t>(depth)].insert(name).second;
  }

 private:
  std::array<std::set<std::string>, kMaxNesting + 2> seen_;
};

/// The value as text; never fails: invalid UTF-8 becomes U+FFFD. On one line, or with `indent`
/// blanks per level.
[[nodiscard]] std::string json_text(const nlohmann::json& value, int indent = -1);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

/// A string from a file, escaped and shortened for a one-line message.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace fovea
