// Which GPU a process uses.
#include "engine/comm/local_device.h"

#include <doctest/doctest.h>

#include "engine/base/fields.h"
#include "tests/support/thread_world.h"

namespace fovea {
namespace {

constexpr Device kCuda{DeviceType::cuda, 0};
Device gpu(int index) { return {DeviceType::cuda, index}; }

TEST_CASE("a process uses the GPU of its local rank") {
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(local_device(kCuda, {.rank = rank, .size = 3, .gpus = 4}) == gpu(rank));
    CHECK(local_device({}, {.rank = rank, .size = 3, .gpus = 4}) == Device{});
  }
}

TEST_CASE("a process alone on its machine may name a GPU") {
  CHECK(local_device(gpu(2), {.rank = 0, .size = 1, .gpus = 4}) == gpu(2));
  CHECK_THROWS_WITH_AS(
      static_cast<void>(local_device(gpu(2), {.rank = 0, .size = 2, .gpus = 4})),
      "--device: got cuda:2 for 2 processes of a machine, expected cuda: each uses "
      "the GPU of its own number",
      UsageError);
}

TEST_CASE("several processes have no GPU in common") {
  const LocalPlace own{.rank = 1, .size = 2, .gpus = 1, .sees_its_own = true};
  CHECK(local_device(kCuda, own) == gpu(0));  // the only one that the launcher shows it
  for (const int gpus : {1, 2}) {
    CHECK_THROWS_WITH_AS(
        static_cast<void>(
            local_device(kCuda, {.rank = 1, .size = 3, .gpus = gpus, .sees_its_own = false})),
        ("--device cuda: 3 processes of a machine see " + std::to_string(gpus) +
         " GPU(s); start one process for each GPU, or show each a GPU of its own by "
         "CUDA_VISIBLE_DEVICES")
            .c_str(),
        Error);
  }
}

TEST_CASE("without a GPU the reason is that of a single process") {
  test::in_threads(2, [](Communicator& processes) {
    CHECK(local_device({}, processes) == Device{});
    CHECK(local_device(kCuda, {.rank = processes.rank(), .size = 2, .gpus = 0}) == kCuda);
  });
}

}  // namespace
}  // namespace fovea
