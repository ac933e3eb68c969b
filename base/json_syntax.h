// What is wrong with a text that is no JSON, for those who wrote it by hand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fovea {

/// "line 3, column 9: ..." about a text that the parser gave up at its `byte`th byte (from 1). Of a
/// text that looks like YAML it says so, and how JSON is made of it.
[[nodiscard]] std::string syntax_complaint(std::string_view text, std::size_t byte);

}  // namespace fovea
