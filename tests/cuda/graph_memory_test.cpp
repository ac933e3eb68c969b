// Memory of steps that are recorded as a graph: where it does not suffice, a run goes on op by op,
// or with smaller batches.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/repeated_runs.h"
#include "tests/support/temporary_folder.h"
#include "train/plan/memory_plan.h"
#include "train/plan/plan.h"

using namespace fovea;
using namespace fovea::tests;

TEST_CASE("without the memory for a recording, a run goes on op by op") {
  emulate::DeviceMemory& memory = emulate::DeviceMemory::instance();
  const std::size_t limit = memory.limit;
  TrainConfig config = small_pervit_config();  // with running statistics
  const auto five_steps = [&](bool graph, std::vector<std::string>& notices) {
    config.step.graph = graph;
    Trainer trainer = make_trainer(config);
    release_cached_memory(kCuda);
    std::int64_t steps = 0;
    TrainWatch watch;
    watch.on_notice = [&](const std::string& text) { notices.push_back(text); };
    watch.on_step = [&](const EpochPosition&) {
      ++steps;
      if (graph && steps == 1) memory.limit -= memory.available(0);  // what that step had
      if (steps == 5) memory.limit = limit;
    };
    watch.should_stop = [&] { return steps == 5; };
    trainer.fit(watch);
    return bits_of(trainer);
  };
  std::vector<std::string> none, notices;
  CHECK(five_steps(false, none) == five_steps(true, notices));
  CHECK(none.empty());
  REQUIRE(notices.size() == 1);
  CHECK(contains(notices[0], "steps run op by op from here on, not as a CUDA graph: memory: "));
  CHECK(take_findings().empty());
}

/// The memory is between what steps op by op take and what those with a recording take. The
/// evaluation after the epoch takes the recording's.
TEST_CASE("--auto-batch shrinks a batch so far that a recording fits, and its steps are repeated") {
  emulate::DeviceMemory& memory = emulate::DeviceMemory::instance();
  const std::size_t limit = memory.limit;
  TrainConfig config = block_config();
  config.images.loader.batch_size = 16;
  config.evaluation.batch_size = 2;
  const Datasets data = images_for(config, 5);
  const auto planned = [&](bool graph) {
    config.step.graph = graph;
    return make_plan(config, data).memory.total(config.images.loader.batch_size);
  };
  const std::int64_t by_op = planned(false), recorded = planned(true);
  REQUIRE(by_op < recorded);
  const auto shrunk = [&](bool graph) {
    TrainConfig fitted = config;
    fitted.step.graph = graph;
    fit_batch_size(fitted, data);
    return fitted;
  };
  release_cached_memory(kCuda);
  memory.limit -= memory.available(0) - static_cast<std::size_t>((by_op + recorded) / 2);
  const TrainConfig whole = shrunk(false), parts = shrunk(true);
  const Run repeated = run_of(parts, /*graph=*/true, data);
  memory.limit = limit;
  CHECK(whole.images.loader.batch_size == 16);
  CHECK(parts.images.loader.batch_size == 8);
  CHECK(parts.loop.grad_accum_steps == 2);
  CHECK(repeated.graphs == 2);
  CHECK(repeated == run_of(parts, /*graph=*/false, data));
  CHECK(take_findings().empty());
}

TEST_CASE("an evaluation that lacks the memory of a recorded step gets it") {
  emulate::DeviceMemory& memory = emulate::DeviceMemory::instance();
  const std::size_t limit = memory.limit;
  TrainConfig config = cuda_config();
  config.step.ema.keep = false;
  config.evaluation.batch_size = 2;
  config.schedule.epochs = 1;
  const Datasets data = tiny_data(12, 4);
  Notices none;
  Trainer trainer = make_trainer(config, data, start_model(config, data, none));
  std::vector<std::string> notices;
  TrainWatch watch;
  watch.on_notice = [&](const std::string& text) { notices.push_back(text); };
  watch.before_evaluating = [&](const TrainState&) {
    release_cached_memory(kCuda);
    memory.limit -= memory.available(0);
  };
  watch.on_epoch = [&](const EpochRow&, const TrainState&) { memory.limit = limit; };
  const bool done = trainer.fit(watch);
  memory.limit = limit;
  CHECK(done);
  REQUIRE(notices.size() == 1);
  CHECK(contains(notices[0], "an evaluation needs their memory"));
  CHECK(take_findings().empty());
}
