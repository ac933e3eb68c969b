// Aligned tables for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// The rows as lines, two blanks between columns as wide as their longest cell. `alignment` has a
/// letter per column, 'l' or 'r'; columns beyond it are right-aligned. No row is longer than the
/// first.
[[nodiscard]] std::string text_table(const std::vector<std::vector<std::string>>& rows,
                                     std::string_view alignment = "l");

/// The same within kTerminalWidth columns, or 40 beside long names. A single row below the titles
/// becomes a line per column. A wider table becomes several, one below another, of which each
/// begins with the first `keys` columns.
[[nodiscard]] std::string terminal_table(const std::vector<std::vector<std::string>>& rows,
                                         std::string_view alignment = "l", std::size_t keys = 1);

}  // namespace fovea
