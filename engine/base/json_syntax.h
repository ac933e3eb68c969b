// Explanations of JSON syntax errors, for people who write it by hand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fovea {

/// What a file that is not JSON is by its first bytes, and the command that makes JSON or readable
/// text of it: compressed, UTF-16, YAML or TOML; "" if none of them.
[[nodiscard]] std::string other_format(std::string_view start);

/// "line 3, column 9: ..." for a text in which the parser failed at byte `byte` (from 1). For a
/// text of another format it says which.
[[nodiscard]] std::string syntax_complaint(std::string_view text, std::size_t byte);

}  // namespace fovea
