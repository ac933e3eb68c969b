// A training step on the fake device, and what it asks of the device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "engine/cuda/runtime.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/fake/kernels.h"
#include "tests/cuda/fake/queues.h"
#include "tests/support/tiny_run.h"

namespace fovea::tests {

struct StepCounts {
  std::map<std::string, emulate::Counters> kernels;  ///< of the backend's own
  std::int64_t products = 0, product_bytes = 0, uploads = 0;

  [[nodiscard]] std::int64_t launches() const {
    std::int64_t sum = products;
    for (const auto& [name, counters] : kernels)
      sum += static_cast<std::int64_t>(counters.launches);
    return sum;
  }
};

/// While it lives, the machine does not look for races. At its end the machine stops counting, too.
class CountingAlone {
 public:
  CountingAlone() : races_(std::exchange(emulate::Machine::instance().races, false)) {}
  CountingAlone(const CountingAlone&) = delete;
  CountingAlone& operator=(const CountingAlone&) = delete;
  ~CountingAlone() {
    emulate::Machine::instance().races = races_;
    emulate::Machine::instance().counts = false;
  }

 private:
  bool races_;
};

/// The second step of a new run, when all caches are filled. counting(true) is called before it,
/// and counting(false) after it. Races and uninitialised bytes, which other tests look for, are not
/// looked for here: that takes a sixth less time.
inline StepCounts counts_of_step(
    Trainer& trainer, const std::function<void(bool)>& counting = [](bool) {}) {
  constexpr int kCounted = 2;
  emulate::Machine& machine = emulate::Machine::instance();
  fake::Queues& queues = fake::Queues::instance();
  StepCounts counts;
  int steps = 0;
  const CountingAlone counting_alone;
  TrainWatch watch;
  watch.on_step = [&](const EpochPosition&) {
    cuda::synchronize(0);
    ++steps;
    if (steps == kCounted - 1) {
      machine.kernels.clear();
      machine.counts = true;
      queues.counts = {};
      counting(true);
    } else if (steps == kCounted) {
      counting(false);
      machine.counts = false;
      counts = {fake::kernels_run(), queues.counts.products, queues.counts.product_bytes,
                queues.counts.copies_to_device};
    }
  };
  watch.should_stop = [&] { return steps == kCounted; };
  trainer.fit(watch);
  return counts;
}

inline constexpr std::int64_t kPictures = 2;

/// A training run of this model with so many blocks, in bf16 with clipping and averages.
inline TrainConfig counted_config(const std::string& model, std::int64_t blocks) {
  TrainConfig c = tiny_config();
  c.model.name = model;
  c.model.settings = {};
  c.model.settings["depth"] = std::to_string(blocks);
  if (model.find("224") != std::string::npos) c.model.settings["img_size"] = "32";
  c.model.drop_path = 0;
  c.images.loader.batch_size = kPictures;
  c.loop.log_interval = 100;
  c.step.graph = false;  // one launch of a graph is like any other
  c.run.device = parse_device("cuda");
  c.run.precision = DType::bf16;
  c.step.clip.limit = 1;
  return c;
}

}  // namespace fovea::tests
