// Lists of cores and their division among processes.
#include "engine/comm/cores.h"

#include <doctest/doctest.h>

namespace fovea {
namespace {

TEST_CASE("lists of cores have Linux's form") {
  CHECK(to_text({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
  CHECK(parse_cores("0-3,8,10-11") == Cores{0, 1, 2, 3, 8, 10, 11});
  CHECK(parse_cores("5") == Cores{5});
  for (const char* text : {"", "a", "1-", "1-2-3", "-1", "0-99999999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_cores(text).has_value());
  }
}

TEST_CASE("processes get consecutive cores, each at least one") {
  const Cores cores{0, 1, 2, 3, 4, 5, 6};
  CHECK(share_of(cores, 0, 2) == Cores{0, 1, 2});
  CHECK(share_of(cores, 1, 2) == Cores{3, 4, 5, 6});
  CHECK(share_of(cores, 0, 1) == cores);
  CHECK(share_of({4, 5}, 0, 4) == Cores{4});
  CHECK(share_of({4, 5}, 3, 4) == Cores{5});
}

}  // namespace
}  // namespace fovea
