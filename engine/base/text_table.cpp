// Pads the cells of each column to one width.
#include "engine/base/text_table.h"

#include <algorithm>

namespace fovea {

std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       std::string_view alignment) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      const bool is_left = i < alignment.size() && alignment[i] == 'l';
      line += (i > 0 ? "  " : "") + (is_left ? row[i] + padding : padding + row[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string table_or_list(const std::vector<std::vector<std::string>>& rows,
                          std::string_view alignment) {
  if (rows.size() != 2) return text_table(rows, alignment);
  std::vector<std::vector<std::string>> lines;
  for (std::size_t i = 0; i < rows[0].size(); ++i) lines.push_back({rows[0][i], rows[1].at(i)});
  return text_table(lines, "ll");
}

}  // namespace fovea
