// Pads the cells of each column to one width.
#include "engine/base/text_table.h"

#include <algorithm>

#include "engine/base/wrap.h"

namespace fovea {
namespace {

using TextRows = std::vector<std::vector<std::string>>;

std::vector<std::size_t> column_widths(const TextRows& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

std::string list_of(const std::vector<std::string>& titles, const std::vector<std::string>& row) {
  TextRows lines;
  for (std::size_t i = 0; i < titles.size(); ++i) lines.push_back({titles[i], row.at(i)});
  return text_table(lines, "ll");
}

/// The table of the first `keys` columns and those from `first` to before `last`.
std::string table_of_columns(const TextRows& rows, std::string_view alignment, std::size_t keys,
                             std::size_t first, std::size_t last) {
  TextRows part(rows.size());
  std::string letters;
  for (std::size_t i = 0; i < last; i = i + 1 == keys ? first : i + 1) {
    letters += i < alignment.size() ? alignment[i] : 'r';
    for (std::size_t r = 0; r < rows.size(); ++r) part[r].push_back(rows[r].at(i));
  }
  return text_table(part, letters);
}

}  // namespace

std::string text_table(const TextRows& rows, std::string_view alignment) {
  const std::vector<std::size_t> widths = column_widths(rows);
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

std::string terminal_table(const TextRows& rows, std::string_view alignment, std::size_t keys) {
  if (rows.size() == 2) return list_of(rows[0], rows[1]);
  constexpr std::size_t kBlanks = 2, kLeastBeside = 40;
  const std::vector<std::size_t> widths = column_widths(rows);
  std::size_t key_width = 0;
  for (std::size_t i = 0; i < keys; ++i) key_width += widths.at(i) + kBlanks;
  const std::size_t limit = std::max(kTerminalWidth, key_width + kLeastBeside);
  std::string text;
  for (std::size_t first = keys; first < widths.size();) {
    std::size_t last = first, width = key_width;
    do {
      width += widths[last++] + kBlanks;
    } while (last < widths.size() && width + widths[last] <= limit);
    text += (text.empty() ? "" : "\n") + table_of_columns(rows, alignment, keys, first, last);
    first = last;
  }
  return text;
}

}  // namespace fovea
