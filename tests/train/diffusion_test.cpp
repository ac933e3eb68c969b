// The diffusion task: what is drawn for an image, its losses, the samples after an epoch, and that
// a run of it behaves like any other.
#include "train/tasks/diffusion.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "tests/train/batches.h"
#include "train/loop/evaluation_pass.h"
#include "train/run/run_state.h"
#include "train/start/resolve.h"

namespace fovea {
namespace {

using tests::indices_of;
using tests::row;

std::unique_ptr<Dit> tiny_dit(const nlohmann::json& overrides = nlohmann::json::object()) {
  nlohmann::json settings{{"embed_dim", 12}, {"depth", 1}, {"num_heads", 2}, {"num_classes", 10}};
  settings.update(overrides);
  auto model = model_as<Dit>(make_model("dit_s_4_8", settings, 3));
  // An untrained DiT returns zeros. Random weights make its output depend on its inputs.
  for (const Parameter& p : model->store().parameters()) {
    if (!p.tensor.requires_grad()) continue;
    const NoGrad no_grad;
    p.tensor.copy_(rand_normal(p.tensor.shape(), {0, 0.1}, {stream_of(p.name.size()), 1}));
  }
  return model;
}

/// All of class 2.
Batch images_of_one_class(const std::vector<double>& indices) {
  Batch batch =
      tests::batch_of(indices, rand_uniform({std::ssize(indices), 3, 8, 8}, {-1, 1}, {1}));
  batch.labels = full({std::ssize(indices)}, 2, {DType::i64, {}});
  return batch;
}

DiffusionOptions few_steps(const std::string& steps = "4") {
  DiffusionOptions options;
  options.samples.steps = steps;
  return options;
}

EvaluateOptions half_normalization() {
  EvaluateOptions options;
  options.normalization = {{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};
  return options;
}

std::string failure(const std::vector<Setting>& flags) {
  return message_of([&] { static_cast<void>(resolve_run(flags, {.task = TaskKind::diffusion})); });
}

void check_says(const std::vector<Setting>& flags, const std::string& part) {
  const std::string said = failure(flags);
  CHECK_MESSAGE(said.find(part) != std::string::npos, said);
}

}  // namespace

TEST_CASE("a run on stored latents says that its samples are not decoded, and what decodes them") {
  const TaskInfo pixels = diffusion_info(false), latents = diffusion_info(false, true);
  CHECK(pixels.picture_shows == "Samples");
  CHECK(contains(latents.pictures, "not decoded"));
  CHECK(contains(latents.next_steps.front().command, "fovea sample RUN --vae VAE "));
  CHECK_FALSE(contains(pixels.next_steps.front().command, "--vae"));
}

TEST_CASE("settings that make samples doubtful are noted") {
  TrainConfig config = config_for(TaskKind::diffusion);
  const auto notes = [&] {
    Notices notices;
    config.task->note(config, notices);
    return notices.texts();
  };
  CHECK(notes().empty());
  config.model.settings["model_args"] = R"({"class_dropout_prob": 1})";
  config.data.name = "latents";
  REQUIRE(notes().size() == 2);
  CHECK(contains(notes()[0], "drops every label"));
  CHECK(contains(notes()[1], "shown as latents"));
}

TEST_CASE("time, noise and dropping follow from seed, step and sample, not from the batch") {
  const auto model = tiny_dit();
  const Diffusion task({}, *model, 7), other_seed({}, *model, 8);
  const BatchPlace place{.step = 5, .forward = 10, .epoch = 1};
  const Batch whole = task.prepare(images_of_one_class({4, 9, 2, 11}), place);
  const Batch part =
      task.prepare(images_of_one_class({2, 11}), {.step = 5, .forward = 11, .epoch = 1});
  const Batch later =
      task.prepare(images_of_one_class({4}), {.step = 6, .forward = 10, .epoch = 1});
  const Batch other = other_seed.prepare(images_of_one_class({4}), place);
  for (const char* name : {"t", "noise", "drop_noise"}) {
    CAPTURE(std::string(name));
    CHECK(row(part.at(name), 0) == row(whole.at(name), 2));
    CHECK(row(part.at(name), 1) == row(whole.at(name), 3));
    CHECK(row(later.at(name), 0) != row(whole.at(name), 0));
    CHECK(row(other.at(name), 0) != row(whole.at(name), 0));
  }
  CHECK(whole.at("t").dtype() == DType::i64);
  CHECK(whole.at("noise").shape() == Shape{4, 3, 8, 8});
  // A sample that comes twice in a batch is noised twice.
  const Batch twice = task.prepare(images_of_one_class({4, 4}), place);
  CHECK(row(twice.at("noise"), 0) == row(whole.at("noise"), 0));
  CHECK(row(twice.at("noise"), 1) != row(twice.at("noise"), 0));
}

TEST_CASE("time steps are uniform from the first to the last, and a tenth of labels are dropped") {
  std::vector<double> indices;
  for (int i = 0; i < 4000; ++i) indices.push_back(i);
  const DiffusionDraws draws = draw_diffusion({1, 2}, indices_of(indices), {1, 1, 1}, 10);
  std::vector<int> counts(10);
  int dropped = 0;
  for (int i = 0; i < 4000; ++i) {
    ++counts.at(static_cast<std::size_t>(draws.t.at(i)));
    dropped += draws.drop_noise.at(i) < 0.1 ? 1 : 0;
  }
  for (const int count : counts) CHECK(std::abs(count - 400) < 80);
  CHECK(std::abs(dropped - 400) < 80);
}

TEST_CASE("the loss is that of the noised images, with dropped labels replaced by the null class") {
  const auto model = tiny_dit();
  DiffusionOptions options;
  options.process.steps = 500;
  options.rescale_vb = true;
  const Diffusion task(options, *model, 7);
  Batch batch = task.prepare(images_of_one_class({0, 1, 2, 3}), {});
  batch.set("drop_noise", from_values({4}, {0.5, 0.05, 0.1, 0.0999}));
  Context ctx;
  ctx.training = true;
  const TaskLoss loss = task.loss(batch, ctx);

  const DiffusionProcess process(options.process);
  const Tensor labels = from_values({4}, {2, 10, 2, 10}, {DType::i64, {}});
  const Tensor t = batch.at("t"), noise = batch.at("noise");
  Context plain;
  const Tensor output = model->denoise(process.add_noise(batch.images, t, noise), t, labels, plain);
  const DiffusionLoss expected = diffusion_loss(process, {batch.images, t, noise}, output);
  CHECK(loss.total.item() == doctest::Approx(expected.total(0.5).item()).epsilon(1e-6));
  REQUIRE(loss.parts.size() == 2);
  CHECK(loss.parts[0].item() == doctest::Approx(ops::mean(expected.mse).item()).epsilon(1e-6));
  CHECK(loss.parts[1].item() == doctest::Approx(ops::mean(expected.vb).item()).epsilon(1e-6));
}

TEST_CASE("held-out losses are of fixed times and noise, whatever the batch, with labels kept") {
  const auto model = tiny_dit({{"class_dropout_prob", 1}});  // training would drop every label
  const Diffusion task({}, *model, 7), other_seed({}, *model, 8);
  const auto images = tiny_data().test;
  const auto scores = [&](const Diffusion& of, std::int64_t batch) {
    EvaluateOptions options = half_normalization();
    options.batch_size = batch;
    return of.scores(of.evaluate(images, options));
  };
  const Scores whole = scores(task, 20);
  REQUIRE(whole.size() == 3);
  CHECK(whole[0] == doctest::Approx(whole[1] + whole[2]));
  CHECK(scores(other_seed, 20) == whole);
  const Scores parts = scores(task, 7);
  for (std::size_t i = 0; i < 3; ++i) CHECK(parts[i] == doctest::Approx(whole[i]).epsilon(1e-6));
  // The classes matter: other rows than the null class's give another loss.
  const NoGrad no_grad;
  const Tensor table = model->store().find("y_embedder.embedding_table.weight");
  const Tensor classes = ops::slice(table, 0, 0, 10);
  classes.copy_(classes * 3.0);
  CHECK(scores(task, 20)[0] != whole[0]);
}

TEST_CASE("a model without learned variances has no variational bound") {
  const auto model = tiny_dit({{"learn_sigma", false}});
  const Diffusion task({}, *model, 7);
  CHECK(task.info().measures.size() == 1);
  Context ctx;
  CHECK(task.loss(task.prepare(images_of_one_class({0, 1}), {}), ctx).parts.empty());
  CHECK(task.scores(task.evaluate(tiny_data().test, half_normalization())).size() == 1);
}

TEST_CASE("outputs that are not finite are counted") {
  const auto model = tiny_dit();
  const NoGrad no_grad;
  model->store().find("final_layer.linear.bias").fill_(std::nan(""));
  const Diffusion task({}, *model, 7);
  const EvaluationPass pass = task.evaluate(tiny_data().test, half_normalization()).pass;
  CHECK(pass.nonfinite == pass.samples);
}

TEST_CASE("samples after an epoch: a column per class, the same each time, from the weights") {
  const auto model = tiny_dit();
  const Diffusion task(few_steps(), *model, 7), other_seed(few_steps(), *model, 8);
  const auto data = tiny_data().test;
  const Image picture = task.picture(data, half_normalization()).value();
  CHECK(picture.width == 10 * (10 * 8 + 2) - 2);  // enlarged, with names below
  CHECK(picture.height == 2 * (10 * 8 + 18 + 2) - 2);
  CHECK(task.picture(data, half_normalization())->pixels == picture.pixels);
  CHECK(other_seed.picture(data, half_normalization())->pixels == picture.pixels);
  CHECK(Diffusion(few_steps("5"), *model, 7).picture(data, half_normalization())->pixels !=
        picture.pixels);
  const NoGrad no_grad;
  const Tensor bias = model->store().find("final_layer.linear.bias");
  bias.copy_(bias + 0.2);
  CHECK(task.picture(data, half_normalization())->pixels != picture.pixels);
}

TEST_CASE("samples of many classes show ten of them, evenly spread") {
  const auto model = tiny_dit({{"num_classes", 1000}});
  const Image picture =
      Diffusion(few_steps("1"), *model, 7).picture(tiny_data().test, half_normalization()).value();
  CHECK(picture.width == 10 * 9 - 1);
}

TEST_CASE("guided samples of a model without a null class are refused") {
  const auto model = tiny_dit({{"class_dropout_prob", 0}});
  SamplingOptions options{.steps = "2"};
  options.guidance.scale = 2;
  const SampleRequest request{.classes = {0}, .indices = {0}};
  tests::check_error([&] { return sample_images(*model, {}, options, request, DType::f32); },
                     "no null class");
  options.guidance.scale = 1;
  CHECK(sample_images(*model, {}, options, request, DType::f32).shape() == Shape{1, 3, 8, 8});
}

TEST_CASE("a sample of a model depends on its seed, index and class alone") {
  const auto model = tiny_dit();
  SamplingOptions options{.steps = "3"};
  options.guidance.scale = 3;
  const auto samples = [&](const SampleRequest& request) {
    return sample_images(*model, {}, options, request, DType::f32);
  };
  const Tensor whole = samples({{0, 4, 2}, {7, 8, 9}, 1});
  CHECK(row(samples({{2}, {9}, 1}), 0) == row(whole, 2));
  CHECK(row(samples({{1, 0}, {3, 7}, 1}), 1) == row(whole, 0));
  CHECK(row(samples({{3}, {9}, 1}), 0) != row(whole, 2));
  CHECK(row(samples({{2}, {9}, 2}), 0) != row(whole, 2));
}

TEST_CASE("diffusion takes pixels in [-1, 1] only, and says so") {
  for (const char* dataset : {"builtin", "cifar10", "cifar100", "folder", "tar", "pack"}) {
    CHECK(failure({{"dataset", dataset}}).empty());
  }
  CHECK(failure({{"mean", "0.5,0.5,0.5"}, {"std", "0.5,0.5,0.5"}}).empty());
  check_says({{"std", "0.25,0.25,0.25"}}, "expected 0.5,0.5,0.5 for both");
  check_says({{"mean", "0.485,0.456,0.406"}}, "pixels in [-1, 1]");
}

TEST_CASE("steps that a schedule or a sampler cannot take are refused with their flag") {
  check_says({{"diffusion-steps", "20"}, {"noise-schedule", "linear"}},
             "--diffusion-steps: diffusion steps: got 20");
  CHECK(failure({{"diffusion-steps", "20"},
                 {"noise-schedule", "squaredcos_cap_v2"},
                 {"num-sampling-steps", "20"}})
            .empty());
  check_says({{"num-sampling-steps", "1001"}}, "--num-sampling-steps: sampling steps: got 1001");
  check_says({{"num-sampling-steps", "ddim300"}}, "no integer stride");
  check_says({{"num-sampling-steps", ""}}, "--num-sampling-steps: got nothing");
  check_says({{"cfg-channels", "0"}}, "--cfg-channels: got 0, expected all");
  check_says({{"cfg-channels", "some"}}, "expected all or a number");
  check_says({{"sampler", "dpm"}}, "ddim");
  CHECK(failure({{"cfg-channels", "all"}}).empty());
}

TEST_CASE("samples without a null class cannot be guided, and the run says so at its start") {
  check_says({{"class-dropout-prob", "0"}}, "use --cfg-scale 1");
  CHECK(failure({{"class-dropout-prob", "0"}, {"cfg-scale", "1"}}).empty());
}

TEST_CASE("a run without learned variances logs no variational bound") {
  const auto info_of = [](const std::vector<Setting>& flags) {
    return task_info(resolve_run(flags, {.task = TaskKind::diffusion}).config);
  };
  CHECK(info_of({}).loss_parts == std::vector<std::string>{"mse", "vb"});
  CHECK(info_of({}).measures.size() == 3);
  CHECK(info_of({{"learn-sigma", "false"}}).loss_parts.empty());
  CHECK(info_of({{"learn-sigma", "false"}}).measures.size() == 1);
}

TEST_CASE("a diffusion model belongs to its program, and its settings to its models") {
  check_says({{"model", "vit_tiny_patch4_32"}}, "fovea train_cifar");
  check_says({{"mixup", "0.8"}}, "fovea train_diffusion trains diffusion models");
  tests::check_error(
      [] {
        return resolve_run({{"model", "dit_s_4_32"}}, {});
      },
      "fovea train_diffusion");
}

TEST_CASE("a step's loss does not depend on how its images are divided into batches") {
  const TrainConfig config = tiny_diffusion_config();
  CHECK(first_loss(config, 8, 1) == doctest::Approx(first_loss(config, 4, 2)).epsilon(1e-6));
}

TEST_CASE("a run with averages shows samples of the averages") {
  TrainConfig config = tiny_diffusion_config();
  config.schedule.epochs = 1;
  config.schedule.warmup_epochs = 0;
  Trainer trainer = make_trainer(config);
  Image shown;
  TrainWatch watch;
  watch.on_picture = [&](std::int64_t, const Image& image) { shown = image; };
  REQUIRE(trainer.fit(watch));
  const Diffusion task(*diffusion_of(config), trainer.model(), config.run.seed);
  const auto sheet = [&] {
    return task.picture(trainer.data().test, half_normalization())->pixels;
  };
  CHECK(shown.width == 10 * (3 * 32 + 2) - 2);
  CHECK(shown.pixels != sheet());
  const SwappedWeights averaged(trainer.model().store(), trainer.averages());
  CHECK(shown.pixels == sheet());
}

TEST_CASE("training lowers the loss, and a run stopped in an epoch goes on bit by bit") {
  const TemporaryFolder folder;
  const auto run = [&](std::int64_t steps, int threads, bool resumes) {
    TrainConfig config = tiny_diffusion_config();
    config.loop.log_interval = 1;
    config.loop.max_steps = steps;
    set_num_threads(threads);
    Trainer trainer = make_trainer(config);
    if (resumes) static_cast<void>(trainer.resume(folder / "state.safetensors"));
    std::vector<double> losses;
    TrainWatch watch;
    watch.on_interval = [&](const StepRow& row) { losses.push_back(row.loss); };
    watch.on_stop = [&](const TrainState& state) {
      run_state_file(folder / "state.safetensors", state).write();
    };
    CHECK(trainer.fit(watch) == (steps == 0));
    return std::pair(losses, bits_of(trainer));
  };
  const auto [losses, bits] = run(0, 1, false);
  REQUIRE(losses.size() == 24);
  CHECK(losses.back() < losses.front());
  static_cast<void>(run(7, 1, false));
  const auto [later, same] = run(0, 2, true);
  set_num_threads(1);
  CHECK(same == bits);
  CHECK(later == std::vector<double>(losses.begin() + 7, losses.end()));
}

}  // namespace fovea
