// Alignment of tables for a terminal.
#include "engine/base/text_table.h"

#include <doctest/doctest.h>

#include "engine/base/wrap.h"

namespace fovea {

TEST_CASE("columns are as wide as their longest cell, the first one left-aligned") {
  CHECK(text_table({{"name", "n", "loss"}, {"a", "100", "0.5"}}) ==
        "name    n  loss\n"
        "a     100   0.5\n");
}

TEST_CASE("a column of words is left-aligned, and no line ends in blanks") {
  CHECK(text_table({{"n", "by"}, {"10", "name"}, {"7", ""}}, "rl") ==
        " n  by\n"
        "10  name\n"
        " 7\n");
  CHECK(text_table({}).empty());
}

TEST_CASE("a table of one row is a list") {
  CHECK(terminal_table({{"checkpoint", "n"}, {"a", "100"}}) == "checkpoint  a\nn           100\n");
  CHECK(terminal_table({{"", "n"}, {"a", "1"}, {"b", "22"}}) == "    n\na   1\nb  22\n");
}

TEST_CASE("a table wider than a terminal becomes several, each with the first columns") {
  const std::string wide(30, 'x'), wider(40, 'y');
  const std::string table = terminal_table(
      {{"", "by", "n", wide, wider}, {"a", "full", "1", "2", "3"}, {"b", "half", "4", "5", "6"}},
      "ll", 2);
  CHECK(
      table ==
      text_table({{"", "by", "n", wide}, {"a", "full", "1", "2"}, {"b", "half", "4", "5"}}, "ll") +
          "\n" + text_table({{"", "by", wider}, {"a", "full", "3"}, {"b", "half", "6"}}, "ll"));
  const std::string name(90, 'z');  // beside a long name, 40 columns are left
  CHECK(terminal_table({{"", wide, "n", "m"}, {name, "1", "2", "3"}, {"b", "4", "5", "6"}})
            .find("\n\n") == std::string::npos);
}

TEST_CASE("long lines are broken before a piece that does not fit") {
  const std::string long_word(50, 'x');
  const std::vector<std::string> pieces{"head", "  " + long_word, "  " + long_word, "  end"};
  CHECK(wrapped(pieces, 2) == "head  " + long_word + "\n  " + long_word + "  end");
  CHECK(wrapped(pieces, 4, 30) == "head\n    " + long_word + "\n    " + long_word + "  end");
  const std::string too_long(90, 'y');
  CHECK(wrapped(std::vector<std::string>{too_long, " a"}, 1) == too_long + "\n a");
  CHECK(pieces_of("  --opt {adamw,sgd}=adamw") ==
        std::vector<std::string>{"  --opt", " {adamw,", "sgd}=adamw"});
  CHECK(pieces_of("").empty());
}

TEST_CASE("a note is broken between words, and its later lines are indented") {
  const std::string word(40, 'x');
  CHECK(note_of("short") == "note: short");
  CHECK(broken("note: " + word + " " + word, 6) == "note: " + word + "\n      " + word);
  CHECK(broken("note: a\n  b", 6) == "note: a\n        b");  // lines of its own are kept
}

}  // namespace fovea
