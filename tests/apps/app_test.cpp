// How programs report what ended them.
#include "apps/common/app.h"

#include <doctest/doctest.h>

#include <exception>
#include <iostream>
#include <sstream>
#include <system_error>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// What is printed about an exception.
template <class Exception>
std::string reported(const Exception& exception) {
  const std::ostringstream printed;
  std::streambuf* const before = std::cerr.rdbuf(printed.rdbuf());
  CHECK(report_error(std::make_exception_ptr(exception), "") == 1);
  std::cerr.rdbuf(before);
  return printed.str();
}

}  // namespace

TEST_CASE("a thread that the system refuses is an error of one line, which names memory") {
  const auto refused = std::make_error_code(std::errc::resource_unavailable_try_again);
  CHECK(reported(std::system_error(refused)) ==
        "error: cannot start a thread: out of memory, or too many processes; fewer --workers need "
        "less\n");
  const auto other = std::make_error_code(std::errc::no_space_on_device);
  CHECK(reported(std::system_error(other)).find("No space left") != std::string::npos);
  CHECK(reported(Error("a.png: is cut")) == "error: a.png: is cut\n");
}

}  // namespace fovea
