// The composed form of names.
#include "engine/base/unicode.h"

#include <doctest/doctest.h>

namespace fovea {

TEST_CASE("letters and their marks become one, all else stays" * doctest::skip(!composes_text())) {
  CHECK(composed_text("cafe\xcc\x81") == "caf\xc3\xa9");
  CHECK(composed_text("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(composed_text("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab") == "\xed\x95\x9c");  // Hangul
  CHECK(composed_text("A\xcc\x8a") == composed_text("\xe2\x84\xab"));  // a ring, and the unit
  CHECK(composed_text("\xef\xac\x81") == "\xef\xac\x81");              // a ligature is no form
}

TEST_CASE("texts without marks, and bytes that are no text, stay as they are") {
  CHECK(composed_text("").empty());
  CHECK(composed_text("n01440764") == "n01440764");
  CHECK(composed_text("caf\xe9") == "caf\xe9");
  CHECK(composed_text("e\xcc") == "e\xcc");
}

}  // namespace fovea
