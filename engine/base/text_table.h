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

/// The same, but a single row below the titles becomes a line per column, as it would soon be wider
/// than a terminal.
[[nodiscard]] std::string table_or_list(const std::vector<std::vector<std::string>>& rows,
                                        std::string_view alignment = "l");

}  // namespace fovea
