// Numbers go through <charconv>, so the text is the same under every locale. Text is processed by
// byte, not by the locale's characters.
#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/lists.h"

namespace fovea {
namespace {

/// std::from_chars on the whole text.
template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return {};
  return value;
}

/// std::to_chars with the given form. 400 bytes hold the largest double with 80 decimals.
template <class... Form>
std::string print(double value, Form... form) {
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, form...).ptr;
  return std::string(text.data(), end);
}

/// Length of the UTF-8 character at the start of `text`, RFC 3629; 0 if it is invalid.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80    ? 1
                             : first < 0xC2  ? 0  // continuation byte or overlong form
                             : first < 0xE0  ? 2
                             : first < 0xF0  ? 3
                             : first <= 0xF4 ? 4
                                             : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool too_long = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool too_large = first == 0xF4 && byte(1) >= 0x90;
  return too_long || surrogate || too_large ? 0 : length;
}

/// Whether a character is U+0000 to U+001F, U+007F to U+009F, or one that XML forbids (U+FFFE,
/// U+FFFF).
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  if (character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF") return true;
  return character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

void append_escaped(std::string_view bytes, std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t' || c == '\r') {
      text.append(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
    } else {
      text.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
  }
}

std::string visible(std::string_view bytes, std::string_view kept) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const std::string_view character = bytes.substr(0, std::max<std::size_t>(length, 1));
    const bool plain = length > 0 && !is_control(character);
    if (plain || kept.find(character) != std::string_view::npos) {
      text.append(character);
    } else {
      append_escaped(character, text);
    }
    bytes.remove_prefix(character.size());
  }
  return text;
}

}  // namespace

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> split_words(std::string_view text, std::string_view others) {
  const std::string separators = " \t\r\n" + std::string(others);
  std::vector<std::string> words;
  std::size_t begin = text.find_first_not_of(separators);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return words;
}

std::vector<std::string> lines_of(std::string_view text) {
  text = without_bom(text);
  if (text.ends_with('\n'))
    text.remove_suffix(1);
  else if (text.empty())
    return {};
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string> expand_braces(std::string_view pattern) {
  const std::size_t open = pattern.find('{'), close = pattern.find('}', open);
  if (close == std::string_view::npos) return {std::string(pattern)};
  std::vector<std::string> texts;
  for (const std::string& choice : split_text(pattern.substr(open + 1, close - open - 1), ',')) {
    for (const std::string& tail : expand_braces(pattern.substr(close + 1))) {
      texts.push_back(std::string(pattern.substr(0, open)) + choice + tail);
    }
  }
  return texts;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += between;
    text += part;
  }
  return text;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_real(std::string_view text) { return parse_whole<double>(text); }

std::string fixed_text(double value, int decimals) {
  return print(value, std::chars_format::fixed, decimals);
}

std::string general_text(double value, int digits) {
  return print(value, std::chars_format::general, digits);
}

std::string shortest_text(double value) { return print(value); }

double decimal_of(float value) {
  char text[32];
  const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
  return parse_real({text, static_cast<std::size_t>(end - text)}).value_or(value);
}

std::string megabytes_text(std::int64_t bytes) {
  return fixed_text(static_cast<double>(bytes) / (1 << 20), 1) + " MB";
}

std::string local_time_text(std::time_t moment, const char* format) {
  std::tm parts{};
  localtime_r(&moment, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

std::string percent_text(double percent, int decimals) {
  return fixed_text(percent, decimals) + " %";
}

std::string visible_text(std::string_view bytes) { return visible(bytes, ""); }

std::string visible_lines(std::string_view bytes) { return visible(bytes, "\n\t"); }

std::string markup_text(std::string_view bytes) {
  std::string text;
  for (const char c : visible_lines(bytes)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string csv_cell(std::string_view bytes) {
  const std::string text = visible_lines(bytes);
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;  // three bytes, zero-padded at the end
    for (std::size_t k = 0; k < 3; ++k) {
      const unsigned byte = i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
      group = group << 8 | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      result += k <= bytes.size() - i ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return result;
}

std::string printf_text(const char* format, ...) {
  std::array<char, 64> text{};
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  check(length >= 0 && length < std::ssize(text), "printf_text: more than 63 characters: ", format);
  return text.data();
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  const long s = std::lround(seconds);
  const long minutes = s / 60, hours = minutes / 60, days = hours / 24;
  if (days > 0) return printf_text("%ldd %02ld:%02ld", days, hours % 24, minutes % 60);
  if (hours > 0) return printf_text("%ld:%02ld:%02ld", hours, minutes % 60, s % 60);
  if (minutes > 0) return printf_text("%ld:%02ld", minutes, s % 60);
  return printf_text("%lds", s);
}

std::string short_number(double value) { return general_text(value, 3); }

std::string three_digits(std::int64_t number) {
  return printf_text("%03lld", static_cast<long long>(number));
}

}  // namespace fovea
