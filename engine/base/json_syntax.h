// Explanations of JSON syntax errors, for people who write it by hand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fovea {

/// "line 3, column 9: ..." for a text in which the parser failed at byte `byte` (from 1). For a
/// text that looks like YAML it says so and explains how to convert it.
[[nodiscard]] std::string syntax_complaint(std::string_view text, std::size_t byte);

}  // namespace fovea
