// Steps that are not finite, which a device skips by itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "engine/cuda/runtime.h"
#include "tests/cuda/repeated_runs.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

/// Classification in which the images of these steps are NaN.
class Faulty : public Classification {
 public:
  Faulty(const TrainConfig& config, Model& model, std::set<std::int64_t> steps)
      : Classification(classification_of(config), model, {.run = config.run}),
        steps_(std::move(steps)) {}

  [[nodiscard]] Batch prepare(Batch batch, const BatchPlace& place) const override {
    if (steps_.contains(place.step)) {
      batch.raw.reset();
      batch.images = full(batch.images.shape(), NAN);
    }
    return Classification::prepare(std::move(batch), place);
  }

 private:
  std::set<std::int64_t> steps_;
};

struct SkippingRun {
  std::map<std::string, std::vector<double>> bits;
  std::vector<std::string> notices;
  std::vector<std::int64_t> waits;  ///< after each step
  std::string error;
};

/// Two epochs of six steps, with faults in these steps.
SkippingRun skipping_run(TrainConfig config, const std::set<std::int64_t>& faults) {
  config.step.guard.skip_nonfinite = true;
  const Datasets data = tiny_data(6 * config.images.loader.batch_size, 4);
  Notices none;
  std::unique_ptr<Model> model = start_model(config, data, none);
  auto task = std::make_unique<Faulty>(config, *model, faults);
  Trainer trainer(trainer_options(config), data, std::move(model), std::move(task));
  SkippingRun run;
  TrainWatch watch;
  watch.on_notice = [&](const std::string& text) { run.notices.push_back(text); };
  watch.on_step = [&](const EpochPosition&) {
    run.waits.push_back(cuda::traffic().synchronisations);
  };
  run.error = message_of([&] { static_cast<void>(trainer.fit(watch)); });
  run.bits = bits_of(trainer);
  return run;
}

}  // namespace

TEST_CASE("a device skips steps that are not finite, and the host learns of it at log lines") {
  TrainConfig config = small_pervit_config();
  config.model.drop_path = 0;
  config.step.optimizer.kind = OptimizerKind::lamb;
  config.step.ema.warmup = true;
  config.step.clip.limit.reset();
  const std::set<std::int64_t> faults{1, 4, 5, 9};  // before and after the recording
  config.step.graph = false;
  const SkippingRun by_op = skipping_run(config, faults);
  CHECK(by_op.error == "");
  use_seed(3);
  config.step.graph = true;
  const SkippingRun repeated = skipping_run(config, faults);
  CHECK(repeated.bits == by_op.bits);
  CHECK(repeated.notices == by_op.notices);
  REQUIRE(repeated.notices.size() == 4);
  CHECK(repeated.notices[1] == "step 4 skipped: the loss is nan (2 so far)");
  for (std::size_t i = 1; i < 6; ++i) CHECK(repeated.waits[i] == repeated.waits[0]);

  // On the CPU the host decides in each step.
  config.run.device = {};
  const SkippingRun cpu = skipping_run(config, faults);
  CHECK(cpu.notices == repeated.notices);
  REQUIRE(cpu.bits.size() == repeated.bits.size());
  for (const auto& [key, values] : cpu.bits) {
    if (key == "fingerprints" || key == "progress") continue;
    const std::string name = key;  // which CAPTURE can hold
    CAPTURE(name);
    const std::vector<double>& others = repeated.bits.at(name);
    REQUIRE(others.size() == values.size());
    double apart = 0, size = 1e-3;
    for (std::size_t i = 0; i < values.size(); ++i) {
      apart = std::max(apart, std::abs(values[i] - others[i]));
      size = std::max(size, std::abs(values[i]));
    }
    CHECK(apart <= 2e-3 * size);
  }
  CHECK(take_findings().empty());
}

TEST_CASE("too many skipped steps stop a run at the next log line") {
  TrainConfig config = linear_config();
  config.step.guard.most_in_row = 2;
  config.loop.log_interval = 6;
  const SkippingRun run = skipping_run(config, {3, 4, 5});
  CHECK(contains(run.error, "3 steps in a row were skipped"));
  CHECK(run.waits.size() == 6);
  CHECK(take_findings().empty());
}
