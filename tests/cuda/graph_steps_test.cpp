// Training steps that are recorded as a graph and repeated have the bits of steps that run op by
// op; and runs that are not recorded.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "tests/cuda/repeated_runs.h"
#include "tests/support/rotary_run.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/drawn_planes.h"
#include "train/tasks/stored_logits.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

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
