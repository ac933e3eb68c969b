// --verify-data: what was checked is counted, also after a signal and in several processes.
#include "apps/common/verification.h"

#include <doctest/doctest.h>

#include "apps/common/signals.h"
#include "tests/support/drawn_images.h"
#include "tests/support/thread_world.h"

namespace fovea {

TEST_CASE("a check that a signal stops counts the images that it has looked at") {
  const SignalRequest request;
  const test::DrawnImages images(600, {5, 400}, /*signals_at=*/3);
  const Verification found = verify_until_stopped(images, single_process());
  CHECK_FALSE(found.is_complete());
  CHECK(found.text() == "stopped after 256 of 600 images, 1 of them broken");
  CHECK(verify_until_stopped(images, single_process()).text() ==
        "stopped after 0 of 600 images, 0 of them broken");
}

TEST_CASE("a signal while the last images are checked leaves nothing unchecked") {
  const SignalRequest request;
  const test::DrawnImages images(300, {5, 290}, /*signals_at=*/299);
  const Verification found = verify_until_stopped(images, single_process());
  CHECK(found.is_complete());
  CHECK(found.text() == "2 of 300 images are broken");
}

TEST_CASE("processes share the images of a check, and all know what is broken") {
  const SignalRequest request;
  const test::DrawnImages images(2000, {1999, 0, 700, 701});
  test::in_threads(3, [&](Communicator& processes) {
    std::vector<std::int64_t> broken, dones;
    const Verification found =
        verify_until_stopped(images, processes, [&](std::int64_t done) { dones.push_back(done); });
    for (const BrokenImage& image : found.broken) broken.push_back(image.index);
    CHECK(broken == std::vector<std::int64_t>{0, 700, 701, 1999});
    CHECK(dones == std::vector<std::int64_t>{768, 1536, 2000});
  });
}

}  // namespace fovea
