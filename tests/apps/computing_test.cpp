// What programs say before they compute.
#include "apps/common/computing.h"

#include <doctest/doctest.h>

#include <iostream>
#include <sstream>

#include "engine/base/error.h"
#include "engine/cuda/runtime.h"

namespace fovea {
namespace {

/// What start_computing() prints.
std::string said(Device device, const std::string& notice) {
  const std::ostringstream printed;
  std::streambuf* const before = std::cerr.rdbuf(printed.rdbuf());
  start_computing(device, notice);
  std::cerr.rdbuf(before);
  return printed.str();
}

}  // namespace

TEST_CASE("a program says once, on stderr, why it computes with less than the processor has") {
  CHECK(said({}, "") == "");
  CHECK(said({}, "the kernel refuses: computing with v4") ==
        "note: the kernel refuses: computing with v4\n");
  CHECK(said({}, "the kernel refuses: computing with v4") == "");
}

TEST_CASE("a program starts no computations on a GPU that is not there" *
          doctest::skip(cuda::available())) {
  CHECK_THROWS_AS(start_computing({DeviceType::cuda, 0}, "a note about the CPU"), Error);
  CHECK(said({}, "a note about the CPU") == "note: a note about the CPU\n");  // not said before
}

}  // namespace fovea
