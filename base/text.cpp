// Numbers go through <charconv>: the same text under every locale.
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fovea {
namespace {

/// std::from_chars of the whole text.
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

std::vector<std::string> words_of(std::string_view text, std::string_view others) {
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

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
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

std::string percent_text(double percent, int decimals) {
  return fixed_text(percent, decimals) + " %";
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;  // three bytes, zeros after the end
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

}  // namespace fovea
