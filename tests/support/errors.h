// Check of an expected error's message.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "engine/base/error.h"

namespace fovea::tests {

/// Checks that f throws an Error with `part` in its message.
inline void check_error(const std::function<void()>& f, const std::string& part) {
  try {
    f();
    FAIL("no error, expected: ", part);
  } catch (const Error& e) {
    CHECK_MESSAGE(std::string(e.what()).find(part) != std::string::npos, e.what());
  }
}

}  // namespace fovea::tests
