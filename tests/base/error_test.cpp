// Errors that get the place where they occurred.
#include "engine/base/error.h"

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"

namespace fovea {

TEST_CASE("an error gets its context once; a longer path is another one") {
  const auto message = [](const std::string& thrown) {
    return message_of([&] { with_context("runs/a", [&] { fail(thrown); }); });
  };
  CHECK(message("no weights") == "runs/a: no weights");
  CHECK(message("runs/a: no weights") == "runs/a: no weights");
  CHECK(message("runs/ab: no weights") == "runs/a: runs/ab: no weights");
}

}  // namespace fovea
