// Splitting and joining texts, and converting between numbers and text.
#pragma once

#include <cstdint>
#include <ctime>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// The parts between separators, including empty ones: "a,,b" has three. An empty text has none.
[[nodiscard]] std::vector<std::string> split_text(std::string_view text, char separator);
/// The non-empty parts between blanks, tabs, line ends and any of `others`.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text,
                                                   std::string_view others = "");
/// The lines, without line ends ("\n" or "\r\n") and without the byte-order mark that some editors
/// and spreadsheets write. A last line without a line end counts.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);
/// The texts that a pattern stands for, as in a shell: "x{a,b}y" is xay and xby. Braces do not
/// nest.
[[nodiscard]] std::vector<std::string> expand_braces(std::string_view pattern);
/// With ASCII letters in lower case.
[[nodiscard]] std::string lower_case(std::string text);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view between);

/// The integer that the whole text spells, in decimal digits with an optional minus; empty when it
/// is anything else or out of range.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
/// The same for reals such as -1, 0.5 and 1e-3, including inf and nan: the caller checks the
/// range.
[[nodiscard]] std::optional<double> parse_real(std::string_view text);

/// The value with a fixed number of decimals: fixed_text(0.125, 2) is "0.12".
[[nodiscard]] std::string fixed_text(double value, int decimals);
/// The value with that many significant digits, like printf's %g: general_text(0.00012345, 3) is
/// "0.000123".
[[nodiscard]] std::string general_text(double value, int digits);
/// The shortest text that parses back to the same number.
[[nodiscard]] std::string shortest_text(double value);
/// The double nearest to the float's shortest decimal text: 0.1 for 0.1F.
[[nodiscard]] double decimal_of(float value);
/// "12.3 MB", where 1 MB is 2^20 bytes.
[[nodiscard]] std::string megabytes_text(std::int64_t bytes);
/// A time in the local time zone, formatted by strftime().
[[nodiscard]] std::string local_time_text(std::time_t moment, const char* format);
/// What printf writes. Throws if that is longer than 63 characters.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string printf_text(const char* format, ...);
/// The parts streamed one after another; the same under every locale: "1234.5", never "1.234,5".
template <class... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  return text.str();
}
/// A percentage as text: "12.35 %" for 12.345.
[[nodiscard]] std::string percent_text(double percent, int decimals = 2);

/// Arbitrary bytes on one line: invalid UTF-8 and control codes become escapes, as in "caf\xE9"
/// and "a\nb". File and class names may contain anything; shown raw they could control a terminal,
/// forge a log line or end a document.
[[nodiscard]] std::string visible_text(std::string_view bytes);
/// The same for text of several lines: line ends and tabs stay.
[[nodiscard]] std::string visible_lines(std::string_view bytes);

/// Text for an XML or HTML element or a quoted attribute: markup characters are escaped, the rest
/// is as in visible_lines().
[[nodiscard]] std::string markup_text(std::string_view bytes);

/// A CSV cell by RFC 4180: quoted when it contains a comma, a quote or a line end. Control codes
/// and invalid UTF-8 are escaped as in visible_lines().
[[nodiscard]] std::string csv_cell(std::string_view text);
/// A word for a command line: in single quotes when a shell would not read it literally.
[[nodiscard]] std::string shell_word(std::string_view text);
/// Base64 by RFC 4648, for data: URLs.
[[nodiscard]] std::string base64(std::string_view bytes);

/// "7s", "3:07", "1:02:03", "2d 03:04"; "?" for a value that is not a duration.
[[nodiscard]] std::string format_duration(double seconds);

/// "0.0123": three significant digits.
[[nodiscard]] std::string short_number(double value);
/// "007", for file names that sort.
[[nodiscard]] std::string three_digits(std::int64_t number);

}  // namespace fovea
