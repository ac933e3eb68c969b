// Strips byte-order marks, line endings, blanks and quotes from list entries.
#include "engine/base/lists.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::string_view kTrimmed = " \t", kByteOrderMark = "\xEF\xBB\xBF";

bool is_quote(char c) { return c == '"' || c == '\''; }

/// The position of the closing quote of a text that starts with a quote; npos if there is none. A
/// doubled quote does not close.
std::size_t end_of_quotes(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] != text[0]) continue;
    if (i + 1 == text.size() || text[i + 1] != text[0]) return i;
    ++i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view without_bom(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

std::vector<std::string> list_entries(std::string_view text, const std::string& context) {
  check(!text.starts_with("\xFF\xFE") && !text.starts_with("\xFE\xFF"), context,
        ": got UTF-16, expected UTF-8; save it as UTF-8 (in PowerShell: Out-File -Encoding utf8)");
  text = without_bom(text);
  std::string lines(text);
  if (lines.find('\n') == std::string::npos) std::replace(lines.begin(), lines.end(), '\r', '\n');
  const bool has_nul = text.find('\0') != std::string_view::npos;
  std::vector<std::string> entries = has_nul ? split_text(text, '\0') : lines_of(lines);
  std::erase(entries, "");
  return entries;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kTrimmed);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kTrimmed) - begin + 1));
}

std::string unquoted(std::string_view text) {
  if (text.size() < 2 || !is_quote(text[0]) || end_of_quotes(text) + 1 != text.size()) {
    return std::string(text);
  }
  std::string inside;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    inside += text[i];
    if (text[i] == text[0]) ++i;  // the first of a doubled quote
  }
  return inside;
}

std::vector<std::string> listed_names(std::string_view text, const std::string& context) {
  std::vector<std::string> names = list_entries(text, context);
  for (std::string& name : names) name = unquoted(trimmed(name));
  std::erase(names, "");
  return names;
}

std::vector<std::string> comma_parts(std::string_view text) {
  std::vector<std::string> parts;
  for (bool more = !text.empty(); more;) {
    const std::size_t begin = text.find_first_not_of(kTrimmed);
    const bool quoted = begin != std::string_view::npos && is_quote(text[begin]);
    const std::size_t end = quoted ? end_of_quotes(text.substr(begin)) : std::string_view::npos;
    const std::size_t from = end == std::string_view::npos ? 0 : begin + end;
    const std::size_t comma = std::min(text.find(',', from), text.size());
    parts.push_back(unquoted(trimmed(text.substr(0, comma))));
    more = comma < text.size();
    text.remove_prefix(more ? comma + 1 : comma);
  }
  return parts;
}

std::string distinct_name(const std::string& wanted, std::set<std::string>& taken) {
  std::string name = wanted;
  for (int i = 2; !taken.insert(name).second; ++i) name = wanted + "-" + std::to_string(i);
  return name;
}

std::string first_few(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t shown = std::min(most, names.size());
  std::string text = join({names.begin(), names.begin() + std::ptrdiff_t(shown)}, ", ");
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

}  // namespace fovea
