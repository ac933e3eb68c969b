// Cutting texts, joining them, and numbers in them.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// The parts between separators, empty ones included: "a,,b" has three. The empty text has none.
[[nodiscard]] std::vector<std::string> split_text(std::string_view text, char separator);
/// The parts between blanks, tabs, ends of lines and any of `others`; none is empty.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text,
                                                std::string_view others = "");
/// The lines, without their ends ("\n" or "\r\n") and without the byte-order mark that some
/// editors and spreadsheets begin a file with. A last one without an end counts.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);
[[nodiscard]] std::string joined(const std::vector<std::string>& parts, std::string_view between);

/// The number that the whole text is, in decimal digits with an optional minus; empty where it is
/// anything else or does not fit.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
/// The same for numbers such as -1, 0.5 and 1e-3, and for inf and nan: check what you need.
[[nodiscard]] std::optional<double> parse_real(std::string_view text);

/// With so many decimals: fixed_text(0.125, 2) is "0.12".
[[nodiscard]] std::string fixed_text(double value, int decimals);
/// With so many significant digits, as printf's %g: general_text(0.00012345, 3) is "0.000123".
[[nodiscard]] std::string general_text(double value, int digits);
/// The shortest text that reads back as the same number.
[[nodiscard]] std::string shortest_text(double value);
/// The real number that the float's shortest decimal means: 0.1 of 0.1F.
[[nodiscard]] double decimal_of(float value);
/// "12.3 MB", of 2^20 bytes each.
[[nodiscard]] std::string megabytes_text(std::int64_t bytes);
/// A moment by the clock on the wall here, as strftime() formats it.
[[nodiscard]] std::string local_time_text(std::time_t moment, const char* format);
/// What the parts are when written one after another.
template <class... Parts>
[[nodiscard]] std::string text_of(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}
/// "12.35 %" of 12.345.
[[nodiscard]] std::string percent_text(double percent, int decimals = 2);

/// What anyone's bytes look like on one line: those that are no UTF-8 and control codes become
/// escapes, as in "caf\xE9" and "a\nb". Names of files and classes may hold anything; shown raw
/// they could steer a terminal, forge a line of a log, or end a document.
[[nodiscard]] std::string visible_text(std::string_view bytes);
/// The same for text of several lines: ends of lines and tabs stay.
[[nodiscard]] std::string visible_lines(std::string_view bytes);

/// Characters as the text of an XML or HTML element or a quoted attribute, which neither may hold
/// raw; the rest as in visible_lines().
[[nodiscard]] std::string markup_text(std::string_view bytes);

/// A cell of CSV, RFC 4180: in quotes where it holds a comma, a quote or an end of line. Control
/// codes and bytes that are no UTF-8 are escaped as in visible_lines().
[[nodiscard]] std::string csv_cell(std::string_view text);
/// A word of a command line: in single quotes where a shell would read it otherwise.
[[nodiscard]] std::string shell_word(std::string_view text);
/// Bytes as text, RFC 4648: for data: addresses.
[[nodiscard]] std::string base64(std::string_view bytes);

/// "7s", "3:07", "1:02:03", "2d 03:04"; "?" where that is not a length of time.
[[nodiscard]] std::string format_duration(double seconds);

/// "0.0123": three digits that count.
[[nodiscard]] std::string short_number(double value);
/// "007": for names of files that sort.
[[nodiscard]] std::string three_digits(std::int64_t number);

}  // namespace fovea
