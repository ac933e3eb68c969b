// Lists of cores and their division among processes.
#include "engine/comm/cores.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"

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

TEST_CASE("cores are sorted by memory node, then by physical core") {
  const TemporaryFolder machine;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((machine / name).parent_path());
    write_file_atomically(machine / name, text);
  };
  write("sys/devices/system/node/node0/cpulist", "1,3,5,7\n");
  write("sys/devices/system/node/node1/cpulist", "0,2,4,6\n");
  for (const auto& [core, siblings] : {std::pair("1", "1,5"),
                                       {"5", "1,5"},
                                       {"3", "3,7"},
                                       {"7", "3,7"},
                                       {"0", "0,4"},
                                       {"4", "0,4"}}) {
    write(std::string("sys/devices/system/cpu/cpu") + core + "/topology/thread_siblings_list",
          siblings);
  }
  CHECK(by_place({0, 1, 2, 3, 4, 5, 6, 7}, machine.path()) == Cores{1, 5, 3, 7, 0, 4, 2, 6});
  const TemporaryFolder unknown;
  CHECK(by_place({2, 1, 0}, unknown.path()) == Cores{0, 1, 2});
}

}  // namespace
}  // namespace fovea
