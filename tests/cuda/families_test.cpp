// Four training steps of each model family on the fake device, compared with the CPU's.
// FOVEA_FAMILY selects a single family, so that several processes can share the work.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "data/image.h"
#include "engine/autograd.h"
#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "engine/storage.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/short_run.h"
#include "tests/cuda/small_runs.h"
#include "tests/support/temporary_folder.h"
#include "train/tasks/classifier_evaluation.h"

using namespace fovea;
using tests::graphs_launched;
using tests::kCuda;
using tests::short_run;
using tests::StopAndGoOn;
using tests::take_findings;
using tests::take_launches;
using tests::use_seed;

namespace {

struct Family {
  const char* model;
  std::map<std::string, std::string> settings;
};

using Settings = std::map<std::string, std::string>;
const Settings kSmall = {
    {"depth", "2"}, {"embed_dim", "12"}, {"num_heads", "2"}, {"patch_size", "8"}};

const std::vector<Family> kFamilies = {
    {"vit_tiny_patch4_32", kSmall},
    {"deit_tiny_distilled_patch4_32", kSmall},
    {"cpvt_tiny_peg0_patch4_32", kSmall},
    {"pervit_tiny_32",
     {{"convstem_dims", "3,6,12"},
      {"depths", "1,1"},
      {"emb_dims", "12,16"},
      {"num_heads", "2"},
      {"img_size", "16"}}},
    {"pit_tiny_32", {{"depth", "2"}, {"embed_dim", "12"}, {"num_heads", "2"}, {"img_size", "4"}}},
    {"mae_vit_tiny_patch4_32",
     {{"depth", "2"},
      {"embed_dim", "12"},
      {"num_heads", "2"},
      {"patch_size", "8"},
      {"decoder_embed_dim", "8"},
      {"decoder_depth", "1"},
      {"decoder_num_heads", "2"},
      {"norm_pix_loss", "true"}}},
    {"vae_f4_32",
     {{"block_out_channels", "4,8"},
      {"layers_per_block", "1"},
      {"norm_num_groups", "2"},
      {"img_size", "8"}}},
    {"dit_s_4_32",
     {{"depth", "2"},
      {"embed_dim", "12"},
      {"num_heads", "2"},
      {"patch_size", "8"},
      {"img_size", "16"}}},
};

/// The first word of the family's model names.
std::string family_name(const Family& family) {
  const std::string model(family.model);
  return model.substr(0, model.find('_'));
}

bool is_chosen(const std::string& name) {
  const char* const chosen = std::getenv("FOVEA_FAMILY");
  return chosen == nullptr || name == chosen;
}

/// The families that this process tests.
std::vector<Family> chosen_families() {
  std::vector<Family> families;
  for (const Family& family : kFamilies) {
    if (is_chosen(family_name(family))) families.push_back(family);
  }
  return families;
}

constexpr std::size_t kSteps = 4;

TrainConfig config_of(const Family& family, const char* device, DType precision) {
  const std::string name = family_name(family);
  TrainConfig c = name == "mae"   ? tiny_mae_config()
                  : name == "vae" ? tiny_vae_config()
                  : name == "dit" ? tiny_diffusion_config()
                                  : tiny_config();
  c.model.name = family.model;
  c.model.settings = {};
  for (const auto& [key, value] : family.settings) c.model.settings[key] = value;
  c.run.precision = precision;
  c.run.device = parse_device(device);
  c.images.loader.batch_size = 4;
  c.loop.max_steps = kSteps;
  c.schedule.epochs = 1;
  c.schedule.warmup_epochs = 0;
  c.loop.log_interval = 1;
  return c;
}

std::vector<double> losses_of(const TrainConfig& config, const StopAndGoOn& how = {}) {
  return short_run(config, how).losses();
}

void check_close(const std::vector<double>& a, const std::vector<double>& b, double epsilon) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(epsilon));
}

/// What an evaluation computes, with a classifier's logits, and the launches of each batch.
struct Passes {
  std::vector<double> outputs;
  std::vector<std::int64_t> launches;
};

/// Of a model whose weights are all random: new ones may have a head of zeros.
std::unique_ptr<Model> random_model(const TrainConfig& config, const Datasets& data) {
  const NoGrad no_grad;
  Notices notices;
  std::unique_ptr<Model> model = start_model(config, data, notices);
  std::uint64_t number = 0;
  for (const Parameter& p : model->store().parameters())
    p.tensor.copy_(rand_normal(p.tensor.shape(), {0, 0.1}, {++number}).to(kCuda));
  return model;
}

Passes passes_of(const Family& family, bool graph) {
  const TrainConfig config = config_of(family, "cuda", DType::bf16);
  const Datasets data = tiny_data(8, 13);  // seven batches, the last one smaller
  const std::unique_ptr<Model> model = random_model(config, data);
  const std::unique_ptr<const Task> task = make_task(config, *model, data.train.get());
  Passes passes;
  ClassifierOptions options{evaluate_options(config)};
  options.batch_size = 2;
  options.graph = graph;
  options.keep_logits = true;
  options.on_batch = [&](std::int64_t) {
    passes.launches.push_back(take_launches());
    return true;
  };
  static_cast<void>(take_launches());
  if (model->info().task != TaskKind::classification) {
    passes.outputs = task->scores(task->evaluate(data.test, options));
    return passes;
  }
  const Evaluation found = evaluate(model_as<Classifier>(*model), data.test, options);
  passes.outputs = found.logits.to_vector();
  passes.outputs.push_back(found.metrics.loss());
  return passes;
}

}  // namespace

TEST_CASE("every registered family is tried, by one process each") {
  std::set<std::string> registered, tried, processes;
  for (const std::string& family : family_names()) registered.insert(family);
  registered.erase("linear");  // train_test.cpp has it
  for (const char* name : {"detr", "ddetr", "depth"})
    registered.erase(name);  // programs.py has them
  for (const Family& family : kFamilies) tried.insert(family_name(family));
  std::istringstream names(FOVEA_FAMILIES);
  for (std::string name; names >> name;) processes.insert(name);
  CHECK(tried == registered);
  CHECK(processes == tried);
  CHECK(!chosen_families().empty());
}

TEST_CASE("four steps of every family have the CPU's losses, and one peak of memory") {
  for (const Family& family : chosen_families()) {
    CAPTURE(std::string(family.model));
    for (const auto& [precision, epsilon] : {std::pair(DType::f32, 1e-5), {DType::bf16, 2e-2}}) {
      const auto on_cuda = [&, p = precision](std::uint64_t seed) {
        use_seed(seed);
        reset_peak_memory(kCuda);
        const std::vector<double> losses = losses_of(config_of(family, "cuda", p));
        return std::pair(losses, memory_stats(kCuda).peak_bytes);
      };
      const auto [losses, peak] = on_cuda(1);
      REQUIRE(losses.size() == kSteps);
      check_close(losses, losses_of(config_of(family, "cpu", precision)), epsilon);
      if (precision != DType::f32) continue;
      CHECK(on_cuda(2) == std::pair(losses, peak));
    }
  }
  CHECK(take_findings().empty());
}

// The saved state has the same form for all families: this tests one with running buffers, and the
// other tasks.
TEST_CASE("a family goes on where it was stopped on the other device") {
  for (const Family& family : chosen_families()) {
    const std::string name = family_name(family);
    if (name != "pervit" && name != "mae" && name != "dit") continue;
    CAPTURE(std::string(family.model));
    const std::vector<double> whole = losses_of(config_of(family, "cpu", DType::f32));
    for (const bool starts_on_cpu : {true, false}) {
      const TemporaryFolder folder;
      const auto config = [&](bool on_cpu) {
        return config_of(family, on_cpu ? "cpu" : "cuda", DType::f32);
      };
      const std::filesystem::path state = folder / "state.safetensors";
      std::vector<double> losses = losses_of(config(starts_on_cpu), {kSteps / 2, {}, state});
      for (const double loss : losses_of(config(!starts_on_cpu), {-1, state, {}})) {
        losses.push_back(loss);
      }
      check_close(losses, whole, 1e-5);
    }
  }
  CHECK(take_findings().empty());
}

TEST_CASE("repeated steps of every family have the bits of steps op by op, and no step waits") {
  for (const Family& family : chosen_families()) {
    CAPTURE(std::string(family.model));
    const auto bits_after_eight = [&](bool graph) {
      std::uint64_t seed = graph ? 100 : 1;  // another one after each step
      use_seed(seed);
      TrainConfig config = config_of(family, "cuda", DType::bf16);
      config.loop.max_steps = 8;
      config.loop.log_interval = 10;
      config.step.graph = graph;
      Trainer trainer = make_trainer(config);
      std::vector<std::string> notices;
      std::vector<std::int64_t> waits;  // of the host, after each step
      TrainWatch watch;
      watch.on_notice = [&](const std::string& text) { notices.push_back(text); };
      watch.on_step = [&](const EpochPosition&) {
        waits.push_back(cuda::traffic().synchronisations);
        use_seed(++seed);
      };
      const std::int64_t before = graphs_launched();
      CHECK_FALSE(trainer.fit(watch));
      CHECK(notices == std::vector<std::string>());
      CHECK(graphs_launched() - before == (graph ? 5 : 0));
      REQUIRE(waits.size() == 8);
      CHECK(waits.back() == waits.front());
      return bits_of(trainer);
    };
    CHECK(bits_after_eight(/*graph=*/true) == bits_after_eight(/*graph=*/false));
  }
  CHECK(take_findings().empty());
}

TEST_CASE("repeated passes of every family have the outputs of passes op by op") {
  for (const Family& family : chosen_families()) {
    CAPTURE(std::string(family.model));
    use_seed(1);
    const Passes by_op = passes_of(family, false);
    use_seed(2);
    const Passes repeated = passes_of(family, true);
    CHECK(repeated.outputs == by_op.outputs);
    const std::set<double> distinct(by_op.outputs.begin(), by_op.outputs.end());
    CHECK(distinct.size() > 1);
    REQUIRE(by_op.launches.size() == 7);
    REQUIRE(repeated.launches.size() == 7);
    for (std::size_t batch = 0; batch < 7; ++batch) {
      CAPTURE(batch);
      const bool is_repeated = batch == 4 || batch == 5;  // the one before them is recorded
      CHECK(by_op.launches[batch] > 5);
      CHECK((repeated.launches[batch] == 1) == is_repeated);
    }
  }
  CHECK(take_findings().empty());
}

TEST_CASE("an epoch of a task with pictures ends with the CPU's scores and picture") {
  struct End {
    std::vector<double> scores;
    Image picture;
  };
  const auto end_on = [](const Family& family, const char* device) {
    TrainConfig config = config_of(family, device, DType::f32);
    config.loop.max_steps = 0;
    const Datasets data = tiny_data(8, 8);  // two steps
    Notices notices;
    Trainer trainer = make_trainer(config, data, start_model(config, data, notices));
    End end;
    TrainWatch watch;
    watch.on_epoch = [&](const EpochRow& row, const TrainState&) { end.scores = row.eval; };
    watch.on_picture = [&](std::int64_t, const Image& image) { end.picture = image; };
    REQUIRE(trainer.fit(watch));
    return end;
  };
  for (const Family& family : chosen_families()) {
    if (family_name(family) != "mae" && family_name(family) != "dit") continue;
    CAPTURE(std::string(family.model));
    const End cpu = end_on(family, "cpu"), cuda = end_on(family, "cuda");
    REQUIRE(cpu.scores.size() >= 2);
    check_close(cuda.scores, cpu.scores, 1e-5);
    REQUIRE(cpu.picture.pixels.size() == cuda.picture.pixels.size());
    REQUIRE(cpu.picture.height > 0);
    int furthest = 0;
    for (std::size_t i = 0; i < cpu.picture.pixels.size(); ++i) {
      furthest = std::max(furthest, std::abs(cpu.picture.pixels[i] - cuda.picture.pixels[i]));
    }
    CHECK(furthest <= 1);
  }
  CHECK(take_findings().empty());
}
