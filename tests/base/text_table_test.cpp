// Alignment of tables for a terminal.
#include "engine/base/text_table.h"

#include <doctest/doctest.h>

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

}  // namespace fovea
