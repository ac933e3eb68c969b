// Two columns, each with its own indentation.
#include "apps/common/help_format.h"

#include "engine/base/text.h"
#include "engine/base/wrap.h"

namespace fovea {
namespace {

constexpr std::size_t kWords = 34;        // column of the descriptions
constexpr std::size_t kMoreChoices = 10;  // column of a flag's further lines

}  // namespace

std::string help_entry(const std::string& flag, const std::string& description) {
  std::string text = wrapped(pieces_of("  " + flag), kMoreChoices);
  if (description.empty()) return text + "\n";
  const std::size_t used = text.size() - (text.rfind('\n') + 1);
  text += used + 2 > kWords ? "\n" + std::string(kWords, ' ') : std::string(kWords - used, ' ');
  return text + wrapped(pieces_of(description), kWords, kWords) + "\n";
}

std::string help_lines(const std::string& text) {
  std::string result, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) result += wrapped(pieces_of(paragraph), 0) + "\n";
    paragraph.clear();
  };
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(' ')) {
      end_paragraph();
      const std::size_t name = line.find_first_not_of(' '), gap = line.find("  ", name);
      const std::size_t words = gap == std::string::npos ? name : line.find_first_not_of(' ', gap);
      result += wrapped(pieces_of(line), words) + "\n";
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    }
  }
  end_paragraph();
  return result;
}

}  // namespace fovea
