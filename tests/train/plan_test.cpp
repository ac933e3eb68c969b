// What a plan promises: exact bytes of the model's tensors, and a line through small batches that
// meets the peak of a larger one. And the file that --profile leaves.
#include "train/plan/plan.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/system_memory.h"
#include "engine/profile.h"
#include "engine/random.h"
#include "engine/storage.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "train/plan/run_profile.h"
#include "train/start/tasks.h"

using namespace fovea;

namespace {

/// Batches of random images, each made when it is asked for.
class Noise : public BatchSource {
 public:
  explicit Noise(std::int64_t size) : size_(size) {}
  [[nodiscard]] Batch next() override {
    return {rand_normal({size_, 3, 32, 32}, {0, 1}, {1}), zeros({size_}, {DType::i64, {}}), {}};
  }

 private:
  std::int64_t size_;
};

/// Compares the peak of a step of 64 images with that of the plan.
void check_planned_peak(const TrainConfig& config) {
  const Datasets data = tiny_data();
  const MemoryPlan memory = make_plan(config, data).memory;
  Notices notices;
  const std::unique_ptr<Model> model = build_model(config, *data.train, notices);
  TrainStep step(step_options(config), config.run, *model, make_task(config, *model));
  Progress progress;
  const auto run = [&](std::int64_t size) {
    Noise noise(size);
    step.run(noise, 1, 0, progress);
    model->store().zero_grad();
  };
  run(64);
  reset_peak_memory();
  const std::int64_t before = memory_stats().current_bytes;
  run(64);
  const auto peak = static_cast<double>(memory_stats().peak_bytes - before);
  const auto planned =
      static_cast<double>(memory.per_batch + memory.gradients + 64 * memory.per_image);
  // The batch itself is made within run(): 64 x 3 x 32 x 32 floats, and what sizes are rounded to.
  CHECK(peak - 64 * 3 * 32 * 32 * 4 == doctest::Approx(planned).epsilon(0.15));
}

}  // namespace

TEST_CASE("a plan counts the bytes of weights, gradients, moments and averages, and takes time") {
  const Plan plan = make_plan(tiny_config(), tiny_data());
  CHECK(plan.parameters > 0);
  CHECK(plan.memory.gradients == 4 * plan.parameters);
  CHECK(plan.memory.weights == 4 * plan.parameters);
  CHECK(plan.memory.optimizer == 8 * plan.parameters);
  CHECK(plan.memory.averages == 4 * plan.parameters);
  CHECK(plan.steps_per_epoch == 6);
  CHECK(plan.fits());
  CHECK(plan.seconds_per_step > 0);
  CHECK(plan.wait_per_step <= plan.seconds_per_step);
  CHECK(plan.total_seconds() >= 24 * plan.seconds_per_step);
  const std::string table = plan_table(plan);
  for (const char* row : {"optimizer", "averaged weights", "total", "per step", "4 epochs"}) {
    CHECK(table.find(row) != std::string::npos);
  }
}

TEST_CASE("a plan counts steps, epochs and sizes as the run does") {
  TrainConfig config = plain_config();
  config.schedule.epochs = 4;
  config.loop.grad_accum_steps = 4;
  config.images.loader.epoch.repeats = 2;
  config.schedule.warmup_prefix = true;
  config.loop.cooldown_epochs = 2;
  const Plan plan = make_plan(config, tiny_data());
  const Trainer trainer = make_trainer(config);
  CHECK(plan.steps_per_epoch == trainer.steps_per_epoch());
  CHECK(plan.epochs == trainer.epochs());
  CHECK(plan.epochs == 7);
  CHECK(plan.evaluations == 7);
  config.loop.val_interval = 3;  // after the third, the sixth and the last
  CHECK(config.loop.evaluations(7) == 3);
  CHECK(config.loop.evaluations(6) == 2);

  config = plain_config();
  config.model.name = "cpvt_tiny_peg0_patch4_32";
  config.model.drop_path = 0;
  const MemoryPlan small = make_plan(config, tiny_data()).memory;
  config.sizes.sides = {16, 32, 64};
  const MemoryPlan large = make_plan(config, tiny_data()).memory;
  CHECK(large.loader_image == 4 * small.loader_image);
  CHECK(large.per_image > 3 * small.per_image);

  config = plain_config();
  const MemoryPlan whole = make_plan(config, tiny_data()).memory;
  config.images.augment.policy = "v0";
  config.images.loader.rows.splits = 3;
  const MemoryPlan split = make_plan(config, tiny_data()).memory;
  CHECK(split.loader_image == 3 * whole.loader_image);
  CHECK(split.per_image > 2 * whole.per_image);
}

TEST_CASE("the peak of a larger batch lies where the plan says") {
  TrainConfig rotary = plain_config();
  rotary.model.settings["num_heads"] = "3";
  rotary.model.settings["rope"] = "mixed";
  for (const TrainConfig& config : {plain_config(), rotary}) check_planned_peak(config);
}

TEST_CASE("the largest batch is the one whose total fits") {
  MemoryPlan memory;
  memory.weights = 1000;
  memory.per_batch = 500;
  memory.per_image = 90;
  memory.loader_image = 10;
  CHECK(memory.total(5) == 2000);
  CHECK(memory.largest_batch(2000) == 5);
  CHECK(memory.largest_batch(2099) == 5);
  CHECK(memory.largest_batch(1599) == 0);
  CHECK(memory.largest_batch(10) == 0);
  memory.kept_image = 25;
  memory.batches = 5;
  CHECK(memory.total(5) == 2500);
  CHECK(memory.largest_batch(2500) == 5);
}

TEST_CASE("a batch that fits stays whole, and the machine's memory is known") {
  TrainConfig config = plain_config();
  fit_batch_size(config, tiny_data());
  CHECK(config.images.loader.batch_size == 8);
  CHECK(config.loop.grad_accum_steps == 1);
  CHECK(available_memory() > 0);
  CHECK(resident_memory() > 1 << 20);
}

TEST_CASE("a profile of some steps is written once, after two that warm up") {
  const TemporaryFolder folder;
  RunProfile profile(2, folder.path() / "profile.json");
  Trainer trainer = make_trainer(plain_config());
  std::vector<bool> said;
  for (int i = 0; i < 6; ++i) {
    trainer.train_step();
    said.push_back(!profile.step_done().empty());
  }
  CHECK(said == std::vector<bool>{false, false, false, true, false, false});
  const auto trace = nlohmann::json::parse(read_file(folder.path() / "profile.json"));
  std::map<std::string, int> spans;
  for (const auto& event : trace["traceEvents"]) {
    ++spans[event["cat"].get<std::string>() + " " + event["name"].get<std::string>()];
  }
  CHECK(spans["stage optimizer"] == 2);
  CHECK(spans["stage forward"] == 2);
  // Two steps of two blocks, the last of which computes only the class token.
  for (const char* op : {"self_attention", "attention"}) {
    CHECK(spans[std::string("forward ") + op] == 2);
    CHECK(spans[std::string("backward ") + op] == 2);
  }
  CHECK(!is_profiling());
  CHECK(!profile.cut_short());
  RunProfile too_long(2, folder.path() / "never.json");
  for (int i = 0; i < 3; ++i) CHECK(too_long.step_done().empty());
  CHECK(too_long.cut_short());
}
