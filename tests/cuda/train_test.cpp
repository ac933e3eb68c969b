// Training on the fake device: the CPU's losses, no synchronisation between two progress reports,
// and resuming.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/short_run.h"
#include "tests/cuda/small_runs.h"
#include "tests/support/temporary_folder.h"
#include "train/plan/plan.h"

using namespace fovea;
using tests::short_run;
using tests::ShortRun;
using tests::take_findings;
using tests::use_seed;

namespace {

TrainConfig linear_config(const std::string& device) {
  TrainConfig c = tests::of_linear_model(plain_config());
  c.run.device = parse_device(device);
  c.schedule.epochs = 2;
  c.loop.log_interval = 1;
  classification_of(c).mix.mixup = 0.8;
  classification_of(c).objective.smoothing = 0.1;
  return c;
}

/// The run with a ViT: Muon and adaptive clipping leave a head to others.
TrainConfig with_a_block(TrainConfig config) {
  config.model.name = "vit_tiny_patch16_32";
  for (const char* const key : {"depth", "num_heads"}) config.model.settings[key] = "1";
  config.model.settings["embed_dim"] = "8";
  return config;
}

void check_close(const ShortRun& a, const ShortRun& b) {
  REQUIRE(a.steps.size() == b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    CHECK(a.steps[i].loss == doctest::Approx(b.steps[i].loss).epsilon(1e-5));
    CHECK(*a.steps[i].grad_norm == doctest::Approx(*b.steps[i].grad_norm).epsilon(1e-4));
  }
}

/// Of steps with this many batches, up to one that is repeated.
void check_planned_memory(std::int64_t batches, bool graph) {
  CAPTURE(batches);
  CAPTURE(graph);
  TrainConfig config = tiny_config();
  config.run.device = tests::kCuda;
  constexpr std::int64_t kBatch = 4;
  config.images.loader.batch_size = kBatch;
  config.loop.grad_accum_steps = batches;
  config.step.graph = graph;
  config.evaluation.batch_size = 1;
  config.schedule.epochs = graph ? 4 : 2;  // of a step each
  const Datasets data = tiny_data(kBatch * batches, 1);
  const MemoryPlan memory = make_plan(config, data).memory;
  Notices notices;
  Trainer trainer = make_trainer(config, data, start_model(config, data, notices));
  release_cached_memory(tests::kCuda);
  reset_peak_memory(tests::kCuda);
  const std::int64_t before = tests::graphs_launched();
  CHECK(trainer.fit());
  CHECK(tests::graphs_launched() - before == (graph ? 1 : 0));
  // Without the fixed part, most of it room for products, in which an error would be lost.
  const std::int64_t fixed = memory.total(0);
  const auto images = static_cast<double>(memory_stats(tests::kCuda).peak_bytes - fixed);
  CHECK(images == doctest::Approx(static_cast<double>(memory.total(kBatch) - fixed)).epsilon(0.2));
  CHECK(take_findings().empty());
}

}  // namespace

TEST_CASE("twelve steps have the CPU's losses, whatever the order of threads and streams") {
  const ShortRun cpu = short_run(linear_config("cpu"));
  REQUIRE(cpu.steps.size() == 12);
  std::vector<double> first;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    use_seed(seed);
    const ShortRun cuda = short_run(linear_config("cuda"));
    check_close(cuda, cpu);
    CHECK(cuda.epochs.back().eval[1] == cpu.epochs.back().eval[1]);
    if (first.empty()) first = cuda.losses();
    CHECK(cuda.losses() == first);
  }
  CHECK(take_findings().empty());
}

TEST_CASE("every optimizer and way of clipping takes the CPU's steps") {
  const auto check_alike = [](OptimizerKind kind, std::optional<ClipMode> clip) {
    CAPTURE(name_of(kind));
    TrainConfig cpu = linear_config("cpu"), cuda = linear_config("cuda");
    const bool needs_blocks = kind == OptimizerKind::muon || clip == ClipMode::agc;
    for (TrainConfig* c : {&cpu, &cuda}) {
      if (needs_blocks) *c = with_a_block(*c);
      c->step.optimizer.kind = kind;
      c->loop.max_steps = 4;
      c->schedule.warmup_epochs = 0;
      if (clip) c->step.clip.limit = 0.05;
      if (clip) c->loop.grad_accum_steps = 2;
      if (clip) c->step.clip.mode = *clip;
    }
    use_seed(1);
    const ShortRun first = short_run(cuda);
    check_close(first, short_run(cpu));
    for (std::uint64_t seed = 2; seed <= 5; ++seed) {
      use_seed(seed);
      CHECK(short_run(cuda).losses() == first.losses());
    }
  };
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw, OptimizerKind::lamb,
                                   OptimizerKind::lars, OptimizerKind::lion, OptimizerKind::muon}) {
    check_alike(kind, {});
  }
  for (const ClipMode clip : {ClipMode::norm, ClipMode::value, ClipMode::agc}) {
    check_alike(OptimizerKind::adamw, clip);
  }
  CHECK(take_findings().empty());
}

TEST_CASE("relative positions are where the model is") {
  for (const char* const kind : {"rpe2d", "learned"}) {
    CAPTURE(std::string(kind));
    const nlohmann::json settings = {{"depth", 1},
                                     {"embed_dim", 8},
                                     {"num_heads", 2},
                                     {"irpe", kind == std::string("learned")},
                                     {"pos_embed", kind}};
    const auto logits_on = [&](Device device) {
      const auto model = make_model("vit_tiny_patch16_32", settings, 1, {DType::f32, device});
      Context ctx;
      const NoGrad no_grad;
      const Tensor image = rand_normal({1, 3, 32, 32}, {0, 1}, {2}).to(device);
      return model_as<Classifier>(*model).forward(image, ctx).logits.to(Device{}).to_vector();
    };
    const std::vector<double> cpu = logits_on({}), cuda = logits_on({DeviceType::cuda, 0});
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      CHECK(cuda[i] == doctest::Approx(cpu[i]).epsilon(1e-5));
    }
  }
  CHECK(take_findings().empty());
}

TEST_CASE("one-hot rows and the search for NaN do not depend on the order of threads") {
  const Tensor ids = from_values({5}, {0, 2, 1, 2, 0}, {DType::i64, {DeviceType::cuda, 0}});
  const Tensor x = full({3000}, 1, {DType::f32, ids.device()});
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    use_seed(seed);
    const std::vector<double> rows = ops::one_hot(ids, 3).to_vector();
    CHECK(rows == std::vector<double>{1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0});
    CHECK(all_finite(x));
    CHECK_FALSE(all_finite(x * HUGE_VAL));
  }
  CHECK(take_findings().empty());
}

TEST_CASE("the host waits for the device when a loss is shown, and not between") {
  const auto waits_of = [](const auto& change) {
    TrainConfig config = linear_config("cuda");
    config.loop.log_interval = 6;
    change(config);
    Trainer trainer = make_trainer(config);
    std::vector<std::int64_t> waits;  // after each step
    TrainWatch watch;
    watch.on_step = [&](const EpochPosition&) {
      waits.push_back(cuda::traffic().synchronisations);
    };
    watch.should_stop = [&] { return waits.size() == 5; };
    trainer.fit(watch);
    REQUIRE(waits.size() == 5);
    return waits.back() - waits.front();
  };
  CHECK(waits_of([](TrainConfig&) {}) == 0);
  CHECK(waits_of([](TrainConfig& c) { c.step.graph = false; }) == 0);
  CHECK(waits_of([](TrainConfig& c) { c.step.clip.limit = 0.05; }) == 0);
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::lamb, OptimizerKind::lars,
                                   OptimizerKind::lion, OptimizerKind::muon}) {
    CAPTURE(name_of(kind));
    CHECK(waits_of([kind](TrainConfig& c) {
            if (kind == OptimizerKind::muon) c = with_a_block(c);
            c.step.optimizer.kind = kind;
          }) == 0);
  }
  CHECK(waits_of([](TrainConfig& c) { c.step.guard.skip_nonfinite = true; }) == 0);
  CHECK(waits_of([](TrainConfig& c) { c.step.guard.zscore = 6; }) > 0);
}

TEST_CASE("an evaluation waits for the device once for each batch") {
  const auto waits_of = [](TrainConfig config, std::int64_t batch_size) {
    config.evaluation.batch_size = batch_size;
    Trainer trainer = make_trainer(config);
    const std::int64_t before = cuda::traffic().synchronisations;
    CHECK(std::get<ScoreSums>(trainer.evaluate().measured).count == 20);
    return cuda::traffic().synchronisations - before;
  };
  TrainConfig mae = tiny_mae_config();
  mae.run.device = parse_device("cuda");
  for (const char* const key : {"depth", "num_heads", "decoder_num_heads"})
    mae.model.settings[key] = "1";
  for (const TrainConfig& config : {linear_config("cuda"), mae}) {
    CAPTURE(config.model.name);
    CHECK(waits_of(config, 10) - waits_of(config, 20) == 1);
  }
  CHECK(take_findings().empty());
}

TEST_CASE("a run stopped on one device goes on on the other") {
  const ShortRun whole = short_run(linear_config("cpu"));
  const TemporaryFolder folder;
  for (const bool starts_on_cpu : {true, false}) {
    CAPTURE(starts_on_cpu);
    const char* const first = starts_on_cpu ? "cpu" : "cuda";
    const char* const second = starts_on_cpu ? "cuda" : "cpu";
    ShortRun run = short_run(linear_config(first), {5, {}, folder / "state.safetensors"});
    const ShortRun rest = short_run(linear_config(second), {-1, folder / "state.safetensors", {}});
    run.steps.insert(run.steps.end(), rest.steps.begin(), rest.steps.end());
    check_close(run, whole);
  }
  CHECK(take_findings().empty());
}

TEST_CASE("a label out of range is noticed with the next loss that is read") {
  const Tensor logits = rand_normal({4, 3}, {0, 1}, {1}).to(Device{DeviceType::cuda, 0});
  const Tensor labels = from_values({4}, {0, 2, 3, 1}, {DType::i64, {DeviceType::cuda, 0}});
  const Tensor loss = ops::cross_entropy(logits, labels);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(loss.item()),
      "cross_entropy: index 3 at position 2 is out of range, expected 0 to 2 (detected when the "
      "host next synchronised with the device)",
      Error);
  CHECK(take_findings().empty());
  CHECK_NOTHROW(static_cast<void>(ops::cross_entropy(logits, zeros({4}, labels.options())).item()));
}

TEST_CASE("what a step takes of the device is measured, and the batch that fits is named") {
  const Datasets data = tiny_data();
  TrainConfig config = linear_config("cuda");
  const MemoryPlan memory = make_plan(config, data).memory;
  CHECK(memory.per_image >= 3 * 32 * 32 * 4);  // its pixels
  CHECK(memory.loader_image + memory.program == 0);
  config.step.graph = false;
  const MemoryPlan by_op = make_plan(config, data).memory;
  CHECK(memory.per_image >= by_op.per_image + 3 * 32 * 32 * 4);  // a graph's copy of them
  CHECK(by_op.kept_image >= 3 * 32 * 32);
  CHECK(memory.kept_image == 2 * by_op.kept_image);
  config.step.graph = true;
  config.images.loader.batch_size = 1 << 30;
  CHECK(what_fits(config, data).find(" fits; --auto-batch") != std::string::npos);
  CHECK(take_findings().empty());
}

TEST_CASE("a plan counts the memory of a run whose steps are repeated, with all their batches") {
  check_planned_memory(1, true);
  check_planned_memory(6, true);
  check_planned_memory(6, false);
}
