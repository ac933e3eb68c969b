// Fills lines piece by piece.
#include "engine/base/wrap.h"

#include <algorithm>

#include "engine/base/output.h"
#include "engine/base/text.h"

namespace fovea {

std::string wrapped(std::span<const std::string> pieces, std::size_t indent, std::size_t used) {
  std::string text;
  bool is_empty = true;  // nothing but the indentation is in the line
  for (const std::string& piece : pieces) {
    const std::size_t first = std::min(piece.find_first_not_of(' '), piece.size());
    if (!is_empty && used + piece.size() > kTerminalWidth) {
      text += "\n" + std::string(indent, ' ') + piece.substr(first);
      used = indent + piece.size() - first;
    } else {
      text += piece;
      used += piece.size();
    }
    is_empty = false;
  }
  return text;
}

std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  bool begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_word = text[i] == ' ' && (i == 0 || text[i - 1] != ' ');
    if (begins || starts_word) pieces.emplace_back();
    pieces.back() += text[i];
    begins = text[i] == ',';
  }
  return pieces;
}

std::string broken(std::string_view text, std::size_t indent) {
  std::string result;
  for (const std::string& line : lines_of(text)) {
    if (!result.empty()) result += "\n" + std::string(indent, ' ');
    result += wrapped(pieces_of(line), indent, result.empty() ? 0 : indent);
  }
  return result;
}

std::string note_of(std::string_view text, int descriptor) {
  const std::string note = "note: " + std::string(text);
  return is_terminal(descriptor) ? broken(note, 6) : note;
}

}  // namespace fovea
