// Cutting, joining, numbers.
#include "engine/base/text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <locale>
#include <string>

#include "engine/base/error.h"

using namespace fovea;

namespace {

using Texts = std::vector<std::string>;

TEST_CASE("texts are cut at separators, blanks and ends of lines") {
  CHECK(split_text("a,,b", ',') == Texts{"a", "", "b"});
  CHECK(split_text(",", ',') == Texts{"", ""});
  CHECK(split_text("", ',').empty());
  CHECK(split_words("  a\tb, c ", ",") == Texts{"a", "b", "c"});
  CHECK(split_words(" \n").empty());
  CHECK(lines_of("a\r\n\nb") == Texts{"a", "", "b"});
  CHECK(lines_of("a\n") == Texts{"a"});
  CHECK(lines_of("\n") == Texts{""});
  CHECK(lines_of("").empty());
  CHECK(join({"a", "b"}, ", ") == "a, b");
  CHECK(join({}, ", ").empty());
  CHECK(expand_braces("a{b,,c}d{1,2}") == Texts{"abd1", "abd2", "ad1", "ad2", "acd1", "acd2"});
  for (const char* text : {"", "ab", "a{b", "a}b"}) CHECK(expand_braces(text) == Texts{text});
}

TEST_CASE("what is no UTF-8 and control codes are shown as escapes") {
  CHECK(visible_text("caf\u00e9 \u732b \U0001F408") == "caf\u00e9 \u732b \U0001F408");
  CHECK(visible_text("caf\xE9") == "caf\\xE9");
  CHECK(visible_text("a\nerror: b\tc\r") == "a\\nerror: b\\tc\\r");
  CHECK(visible_text("\x1b[2J\x7f") == "\\x1B[2J\\x7F");
  CHECK(visible_text("\xC2\x9b[2J") == "\\xC2\\x9B[2J");  // the same in one code
  CHECK(visible_lines("a\nb\tc\x07") == "a\nb\tc\\x07");
  // Cut off, too long, a surrogate, beyond U+10FFFF, and what XML forbids.
  CHECK(visible_text("\xE2\x82") == "\\xE2\\x82");
  CHECK(visible_text("\xC0\xAF\xE0\x80\xAF") == "\\xC0\\xAF\\xE0\\x80\\xAF");
  CHECK(visible_text("\xED\xA0\x80") == "\\xED\\xA0\\x80");
  CHECK(visible_text("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");
  CHECK(visible_text("\xEF\xBF\xBF") == "\\xEF\\xBF\\xBF");
  CHECK(visible_text(std::string_view("\0", 1)) == "\\x00");
  CHECK(markup_text("<a href=\"x\">&\x01") == "&lt;a href=&quot;x&quot;&gt;&amp;\\x01");
  CHECK(csv_cell("\xFF, \"b\"") == "\"\\xFF, \"\"b\"\"\"");
}

TEST_CASE("a number is the whole text or nothing") {
  CHECK(parse_integer("-12") == -12);
  CHECK(parse_integer("9223372036854775807") == INT64_MAX);
  for (const char* text : {"", "9223372036854775808", "1 ", " 1", "+1", "1.0", "0x1"}) {
    CHECK_FALSE(parse_integer(text).has_value());
  }
  CHECK(parse_real("1e-3") == 1e-3);
  CHECK(std::isnan(parse_real("nan").value()));
  for (const char* text : {"", "1e999", "1,5", "0.5x"}) CHECK_FALSE(parse_real(text).has_value());
}

TEST_CASE("numbers are printed fixed, general, shortest and as percents") {
  CHECK(fixed_text(0.125, 2) == "0.12");
  CHECK(fixed_text(-1e300, 80).size() == 383);
  CHECK(general_text(0.00012345, 3) == "0.000123");
  CHECK(shortest_text(0.1) == "0.1");
  CHECK(percent_text(12.345) == "12.35 %");
  CHECK(percent_text(9.96, 1) == "10.0 %");
}

/// As in a German locale.
struct DecimalComma : std::numpunct<char> {
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

TEST_CASE("texts and messages have the same numbers in a locale with a decimal comma") {
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
  const std::string text = concat("n", 12345, " ", 0.5), fixed = fixed_text(1234.5, 1);
  std::string message;
  try {
    fail("got ", 0.25, ", expected ", 10000);
  } catch (const Error& error) {
    message = error.what();
  }
  std::locale::global(before);
  CHECK(text == "n12345 0.5");
  CHECK(fixed == "1234.5");
  CHECK(message == "got 0.25, expected 10000");
}

TEST_CASE("what printf writes is whole, or an error") {
  CHECK(printf_text("%03d", 7) == "007");
  CHECK(printf_text("%063d", 7).size() == 63);
  CHECK_THROWS_AS(static_cast<void>(printf_text("%064d", 7)), Error);
}

TEST_CASE("cells of CSV are quoted where they must be") {
  CHECK(shell_word("runs/a-1_b.png") == "runs/a-1_b.png");
  CHECK(shell_word("it's a run") == "'it'\\''s a run'");
  CHECK(shell_word("") == "''");
  CHECK(csv_cell("plain text") == "plain text");
  CHECK(csv_cell("4x4, \"no\"") == "\"4x4, \"\"no\"\"\"");
  CHECK(csv_cell("a\nb") == "\"a\nb\"");
}

TEST_CASE("base64 has the vectors of RFC 4648") {
  const Texts plain{"", "f", "fo", "foo", "foob", "fooba", "foobar"};
  const Texts coded{"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(base64(plain[i]) == coded[i]);
}

}  // namespace
