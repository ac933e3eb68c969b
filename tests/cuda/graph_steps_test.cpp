// Training steps that are recorded as a graph and repeated have the bits of steps that run op by
// op; steps that a device skips; and runs that are not recorded.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/small_runs.h"
#include "tests/support/rotary_run.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/drawn_planes.h"
#include "train/plan/memory_plan.h"
#include "train/plan/plan.h"
#include "train/tasks/stored_logits.h"

using namespace fovea;
using tests::drawn_planes;
using tests::graphs_launched;
using tests::kCuda;
using tests::take_findings;
using tests::take_launches;
using tests::use_seed;

namespace {

/// A few steps of a small model, with averages, clipping and mixing.
TrainConfig cuda_config(TrainConfig c = tiny_config()) {
  c.run.device = kCuda;
  c.images.loader.batch_size = 2;
  c.step.clip.limit = 0.05;
  c.loop.log_interval = 100;
  c.schedule.epochs = 2;
  c.schedule.warmup_epochs = 1;
  return c;
}

/// An epoch of it.
TrainConfig block_config() {
  TrainConfig c = cuda_config();
  c.model.settings["depth"] = "1";
  c.schedule.epochs = 1;
  return c;
}

TrainConfig linear_config() { return tests::of_linear_model(cuda_config()); }

/// With running statistics, and values that are computed once a step.
TrainConfig small_pervit_config() {
  TrainConfig c = cuda_config(tiny_pervit_config());
  c.model.settings["img_size"] = "16";
  c.model.settings["convstem_dims"] = "3,6,12";
  return c;
}

struct Run {
  std::map<std::string, std::vector<double>> bits;
  std::vector<double> losses, scores;
  std::vector<std::string> notices;
  std::int64_t graphs = 0;  ///< launches of graphs

  friend bool operator==(const Run& a, const Run& b) {
    return a.bits == b.bits && a.losses == b.losses && a.scores == b.scores;
  }
};

/// Depths, on which five batches are evaluated after an epoch.
TrainConfig small_depth_config() {
  TrainConfig c = config_for(TaskKind::depth);
  c.model.name = "depth_vit_tiny_patch6_24x36";
  for (const char* const key : {"depth", "num_heads"}) c.model.settings[key] = "1";
  c.model.settings["embed_dim"] = "12";
  c.images.augment.crop_padding = 0;
  c.run.workers = 0;
  c.step.ema.keep = true;
  c = cuda_config(c);
  c.evaluation.batch_size = 2;
  c.schedule.epochs = 1;
  c.schedule.warmup_epochs = 0;
  return c;
}

/// Images for epochs of eight steps, or of as many as `per_epoch` says. The first three run op by
/// op.
Datasets images_for(const TrainConfig& config, std::int64_t per_epoch = 8) {
  return tiny_data(per_epoch * config.images.loader.batch_size, 4);
}

/// All epochs. The order of streams and threads changes after each step.
Run run_of(TrainConfig config, bool graph, const Datasets& data, std::uint64_t seed = 1) {
  config.step.graph = graph;
  use_seed(seed);
  Notices notices;
  Trainer trainer = make_trainer(config, data, start_model(config, data, notices));
  Run run;
  TrainWatch watch;
  watch.on_interval = [&](const StepRow& row) { run.losses.push_back(row.loss); };
  watch.on_notice = [&](const std::string& text) { run.notices.push_back(text); };
  watch.on_step = [&](const EpochPosition&) { use_seed(++seed); };
  watch.on_epoch = [&](const EpochRow& row, const TrainState&) {
    run.losses.push_back(row.train_loss);
    for (const Scores& scores : {row.eval, row.ema})
      run.scores.insert(run.scores.end(), scores.begin(), scores.end());
  };
  const std::int64_t before = graphs_launched();
  CHECK(trainer.fit(watch));
  run.graphs = graphs_launched() - before;
  run.bits = bits_of(trainer);
  return run;
}

/// Checks a run of repeated steps against one that runs them op by op.
Run check_same_bits(const TrainConfig& config, std::int64_t repetitions, const Datasets& data) {
  const Run by_op = run_of(config, /*graph=*/false, data);
  CHECK(by_op.graphs == 0);
  const Run repeated = run_of(config, /*graph=*/true, data, 100);
  CHECK(repeated == by_op);
  CHECK(repeated.graphs == repetitions);
  CHECK(take_findings().empty());
  return repeated;
}
Run check_same_bits(const TrainConfig& config, std::int64_t repetitions) {
  return check_same_bits(config, repetitions, images_for(config));
}

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

TEST_CASE("repeated steps have the bits of steps op by op") {
  TrainConfig config = block_config();
  config.schedule.epochs = 2;
  config.run.precision = DType::bf16;  // copies of weights, which the averages' evaluation changes
  config.loop.log_interval = 3;
  const Datasets data = images_for(config, 5);
  const Run first = check_same_bits(config, 7, data);
  for (std::uint64_t seed = 200; seed <= 500; seed += 100)
    CHECK(run_of(config, /*graph=*/true, data, seed) == first);
  CHECK(first.notices.empty());
  CHECK(take_findings().empty());
}

TEST_CASE("every optimizer and way of clipping repeats its steps") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::lamb,
                                   OptimizerKind::lars, OptimizerKind::lion, OptimizerKind::muon}) {
    CAPTURE(name_of(kind));
    TrainConfig config = linear_config();
    if (kind == OptimizerKind::muon) config = block_config();  // it leaves a head to others
    config.step.optimizer.kind = kind;
    config.schedule.epochs = 1;
    check_same_bits(config, 5);
  }
  for (const ClipMode mode : {ClipMode::value, ClipMode::agc}) {
    TrainConfig config = linear_config();
    config.step.clip.mode = mode;
    config.step.ema.warmup = true;
    config.schedule.epochs = 1;
    check_same_bits(config, 5);
  }
}

TEST_CASE("what is computed from weights once a step is that of the last repetition") {
  TrainConfig config = small_pervit_config();
  config.step.ema.warmup = true;  // decays that change, also of running statistics
  config.schedule.epochs = 1;
  check_same_bits(config, 5);
  config.step.ema = {};  // nothing but repetitions changes weights between the two evaluations
  config.schedule.epochs = 2;
  check_same_bits(config, 5, images_for(config, 4));
}

TEST_CASE("accumulated steps are repeated, and the smaller one that ends an epoch is not") {
  TrainConfig config = linear_config();
  config.loop.grad_accum_steps = 2;
  config.run.precision = DType::bf16;  // the step op by op leaves the copies of weights behind
  config.schedule.epochs = 2;
  // Five steps an epoch, the last of one batch: 1 to 3 of the first epoch come before the
  // recording.
  check_same_bits(config, 1 + 4, images_for(config, 9));
}

TEST_CASE("steps whose blocks are computed again in the backward pass are repeated") {
  TrainConfig config = block_config();
  config.step.recompute_blocks = true;
  config.run.precision = DType::bf16;
  check_same_bits(config, 5);
}

TEST_CASE("depth's steps and evaluations are repeated") {
  // Of five batches of an evaluation the fourth is a repetition, for the weights and for averages.
  check_same_bits(small_depth_config(), 5 + 2, {drawn_planes(16, 1), drawn_planes(9, 2)});
}

TEST_CASE("steps with a teacher, a model or stored logits, are repeated") {
  const TemporaryFolder folder;
  TrainConfig config = linear_config();
  config.schedule.epochs = 1;
  const Datasets data = images_for(config);
  ObjectiveOptions& objective = classification_of(config).objective;
  objective.distillation = Distillation::soft;
  {
    Trainer teacher = make_trainer(block_config());
    save_model(folder / "teacher.safetensors", teacher.model());
  }
  objective.teacher.checkpoint = (folder / "teacher.safetensors").string();
  check_same_bits(config, 5);
  objective.teacher.checkpoint.clear();
  write_safetensors(folder / "logits.safetensors", {{"logits", rand_normal({16, 10}, {0, 1}, {4})}},
                    logits_metadata("builtin", Split::train, *data.train));
  objective.teacher.logits = (folder / "logits.safetensors").string();
  check_same_bits(config, 5);
}

TEST_CASE("coordinates of rotary positions move in repeated steps, too") {
  for (const char* const rope : {"axial", "mixed"}) {
    CAPTURE(std::string(rope));
    TrainConfig config = cuda_config(tiny_rotary_config(rope));
    config.model.settings["depth"] = "1";
    config.model.drop_path = 0;
    config.loop.log_interval = 1;
    config.schedule.epochs = 1;
    check_same_bits(config, 5);
  }
}

TEST_CASE("a repeated step reads no rotary table that an evaluation's size has replaced") {
  TrainConfig config = cuda_config(tiny_rotary_config());
  config.model.settings["depth"] = "1";
  config.model.drop_path = 0;
  config.sizes.sides = {24};  // evaluation has images of 32
  check_same_bits(config, 7, images_for(config, 5));
}

TEST_CASE("batches of another shape are recorded anew, three times in a hundred steps") {
  TrainConfig config = block_config();
  config.model.drop_path = 0;
  config.sizes.sides = {16, 24, 32, 40};
  config.schedule.epochs = 4;
  const Run run = check_same_bits(config, 9, images_for(config, 6));
  REQUIRE(run.notices.size() == 1);
  CHECK(run.notices[0] ==
        "steps run op by op from here on, not as a CUDA graph: the form of their batches has "
        "changed 3 times within 100 steps");
}

TEST_CASE("a repeated step is one launch after that for its pixels, and the host does not wait") {
  TrainConfig config = cuda_config();
  config.run.precision = DType::bf16;
  config.schedule.epochs = 1;
  Trainer trainer = make_trainer(config);
  std::vector<std::int64_t> launches, waits;
  TrainWatch watch;
  watch.on_step = [&](const EpochPosition&) {
    launches.push_back(take_launches());
    waits.push_back(cuda::traffic().synchronisations);
  };
  watch.should_stop = [&] { return launches.size() == 7; };
  trainer.fit(watch);
  REQUIRE(launches.size() == 7);
  for (std::size_t i = 4; i < 7; ++i) {
    CHECK(launches[i] == 2);  // the values of the batch's pixels, and the graph
    CHECK(waits[i] == waits[0]);
  }
  CHECK(take_findings().empty());
}

TEST_CASE("the operations of repeated steps are counted") {
  const auto flop_of = [](bool graph) {
    TrainConfig config = linear_config();
    config.step.graph = graph;
    config.schedule.epochs = 1;
    config.loop.log_interval = 6;
    Trainer trainer = make_trainer(config);
    double flop = 0;
    TrainWatch watch;
    watch.on_interval = [&](const StepRow& row) { flop = row.time.stages.flop; };
    trainer.fit(watch);
    return flop;
  };
  CHECK(flop_of(true) == flop_of(false));
}

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

TEST_CASE("a run whose host takes part in each step says why it is not recorded") {
  const auto said = [](const auto& change) {
    TrainConfig config = linear_config();
    change(config);
    Trainer trainer = make_trainer(config);
    std::vector<std::string> texts;
    const Notices notices = trainer.notices();
    for (const std::string& text : notices.texts()) {
      if (contains(text, "CUDA graph")) texts.push_back(text);
    }
    REQUIRE(texts.size() <= 1);
    return texts.empty() ? std::string() : texts.front();
  };
  CHECK(said([](TrainConfig&) {}) == "");
  CHECK(said([](TrainConfig& c) { c.run.device = {}; }) == "");
  CHECK(said([](TrainConfig& c) { c.step.graph = false; }) == "");
  const auto names = [&](const char* what, const auto& change) {
    CAPTURE(std::string(what));
    CHECK(contains(said(change), std::string("op by op, not as a CUDA graph: ") + what));
  };
  names("--spike-zscore", [](TrainConfig& c) { c.step.guard.zscore = 6; });
  names("--detect-anomaly", [](TrainConfig& c) { c.step.detect_anomaly = true; });
  names("--profile", [](TrainConfig& c) { c.request.profile = 3; });
  names("gradients of shards", [](TrainConfig& c) { c.loop.shards = 2; });
}
