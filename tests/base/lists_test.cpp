// Lists as editors, spreadsheets, shells and other systems write them.
#include "engine/base/lists.h"

#include <doctest/doctest.h>

#include "engine/base/text.h"
#include "tests/support/temporary_folder.h"

namespace fovea {

using Texts = std::vector<std::string>;

TEST_CASE("a list is the same with a byte-order mark, other ends of lines and between NULs") {
  const Texts names{"cat", "polar bear", "\u00e9mu"};
  using namespace std::string_literals;
  for (const std::string& text : {"cat\npolar bear\n\u00e9mu"s, "cat\npolar bear\n\u00e9mu\n"s,
                                  "\xEF\xBB\xBF"
                                  "cat\npolar bear\n\n\u00e9mu\n"s,
                                  "\xEF\xBB\xBF"
                                  "cat\r\npolar bear\r\n\r\n\u00e9mu\r\n"s,
                                  "cat\rpolar bear\r\u00e9mu\r"s, "cat\0polar bear\0\u00e9mu\0"s,
                                  "cat\0polar bear\0\u00e9mu"s,
                                  "\xEF\xBB\xBF"
                                  "cat\0polar bear\0\u00e9mu\0"s}) {
    CAPTURE(text);
    CHECK(list_entries(text, "list") == names);
  }
  CHECK(list_entries("", "list").empty());
  CHECK(list_entries("\xEF\xBB\xBF\r\n", "list").empty());
  CHECK(list_entries("a\nb\0"s, "list") == Texts{"a\nb"});  // a name with an end of line
  CHECK(list_entries(" a \n", "list") == Texts{" a "});
}

TEST_CASE("a list in UTF-16 is refused with what to do") {
  using namespace std::string_literals;
  for (const std::string& text : {"\xFF\xFE"
                                  "a\0\n\0"s,
                                  "\xFE\xFF\0a\0\n"s}) {
    CHECK(contains(message_of([&] { (void)list_entries(text, "map.txt"); }),
                   "map.txt: got UTF-16, expected UTF-8; save it as UTF-8"));
  }
}

TEST_CASE("quotes around a whole entry are taken off, others are part of it") {
  CHECK(unquoted("\"a, b\"") == "a, b");
  CHECK(unquoted("'a b'") == "a b");
  CHECK(unquoted("\"say \"\"a\"\"\"") == "say \"a\"");
  CHECK(unquoted("\"\"") == "");
  for (const char* const text : {"", "\"", "a\"b\"", "\"a\" and \"b\"", "'a\"", "'n' roll"}) {
    CAPTURE(std::string(text));
    CHECK(unquoted(text) == text);
  }
  CHECK(trimmed(" \ta b\t ") == "a b");
  CHECK(trimmed(" \t").empty());
}

TEST_CASE("commas separate, but not in quotes") {
  CHECK(comma_parts("a, b,c") == Texts{"a", "b", "c"});
  CHECK(comma_parts("\"horned viper, cerastes\", 'b, c' ,7") ==
        Texts{"horned viper, cerastes", "b, c", "7"});
  CHECK(comma_parts("a,,b,") == Texts{"a", "", "b", ""});
  CHECK(comma_parts("it's, 'hood,b") == Texts{"it's", "'hood", "b"});
  CHECK(comma_parts("").empty());
}

TEST_CASE("equal names are numbered, past numbers that other names have") {
  std::set<std::string> taken;
  Texts names;
  for (const char* name : {"cat-3", "cat", "cat", "cat", "cat-2"}) {
    names.push_back(distinct_name(name, taken));
  }
  CHECK(names == Texts{"cat-3", "cat", "cat-2", "cat-4", "cat-2-2"});
}

TEST_CASE("of many names the first are shown") {
  CHECK(first_few({"a", "b"}) == "a, b");
  CHECK(first_few({"a", "b", "c", "d", "e"}) == "a, b, c and 2 more");
  CHECK(first_few({}).empty());
}

TEST_CASE("lines have no byte-order mark") {
  CHECK(lines_of("\xEF\xBB\xBF"
                 "a\r\nb") == Texts{"a", "b"});
  CHECK(lines_of("\xEF\xBB\xBF").empty());
}

}  // namespace fovea
