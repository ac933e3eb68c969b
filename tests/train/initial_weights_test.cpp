// What a run starts from and what of it is trained: freezing, probes, initial values, fine-tuning.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/files.h"
#include "engine/base/text.h"
#include "engine/formats/safetensors.h"
#include "models/registry.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_run.h"
#include "tests/support/torch_state.h"

namespace fovea {
namespace {

std::string notices_of(const TrainConfig& config) {
  Notices notices;
  static_cast<void>(start_model(config, tiny_data(), notices));
  std::string text;
  for (const std::string& notice : notices.texts()) text += notice + "\n";
  return text;
}

}  // namespace

TEST_CASE("a run with other colours than its weights were trained with says so") {
  const TemporaryFolder folder;
  TrainConfig config = plain_config();
  const std::string file = (folder / "weights.safetensors").string();
  Notices none;
  const auto model = start_model(config, tiny_data(), none);
  save_model(file, *model, {{"mean", "[0.5, 0.5, 0.5]"}, {"std", "[0.25, 0.25, 0.25]"}});
  config.weights.finetune = file;
  CHECK(contains(notices_of(config), "was trained with --mean 0.5,0.5,0.5 --std 0.25,0.25,0.25"));
  config.run.normalization.mean = {0.5, 0.5, 0.5};
  config.run.normalization.deviation = {0.25, 0.25, 0.25};
  CHECK_FALSE(contains(notices_of(config), "was trained with"));
}

TEST_CASE("frozen parameters stay, the others move") {
  TrainConfig config = plain_config();
  config.frozen.patterns = "^blocks\\.0\\. patch_embed";
  Trainer trainer = make_trainer(config);
  const auto before = bits_of(trainer);
  trainer.train_step();
  const auto after = bits_of(trainer);
  for (const Parameter& p : trainer.model().store().parameters()) {
    CAPTURE(p.name);
    const bool frozen = p.name.starts_with("blocks.0.") || p.name.starts_with("patch_embed.");
    CHECK((before.at(p.name) == after.at(p.name)) == frozen);
    CHECK(after.contains("m/" + p.name) == !frozen);
  }
}

TEST_CASE("a linear probe trains the head alone") {
  TrainConfig config = plain_config();
  config.frozen.all_but_heads = true;
  Trainer trainer = make_trainer(config);
  CHECK(trainer.model().store().parameter_count() == 12 * 10 + 10);
  CHECK(contains(notices_of(config), "; trained: 2"));
}

TEST_CASE("a linear probe on a checkpoint starts from its features and leaves them alone") {
  const TemporaryFolder folder;
  const std::string file = (folder / "features.safetensors").string();
  TrainConfig config = plain_config();
  {
    Trainer trainer = make_trainer(config);
    trainer.train_step();
    save_model(file, trainer.model());
  }
  config.weights.finetune = file;
  config.frozen.all_but_heads = true;
  Trainer probe = make_trainer(config);
  CHECK(probe.fit());
  const SafetensorsFile before = read_safetensors(file);
  for (const Parameter& p : probe.model().store().parameters()) {
    CAPTURE(p.name);
    const bool same = before.tensors.at(p.name).to_vector() == p.tensor.to_vector();
    CHECK(same == !p.name.starts_with("head."));
  }
}

TEST_CASE("--init jax: heads and biases at zero, the other spreads as stated") {
  TrainConfig config = plain_config();
  config.weights.values = InitialValues::jax;
  config.model.settings["embed_dim"] = "96";
  Notices notices;
  const auto model = start_model(config, tiny_data(), notices);
  const auto deviation = [&](const char* name) {
    double squares = 0;
    const std::vector<double> values = model->store().find(name).to_vector();
    for (const double value : values) squares += value * value;
    return std::sqrt(squares / static_cast<double>(values.size()));
  };
  for (const char* zero : {"head.weight", "head.bias", "patch_embed.proj.bias",
                           "blocks.0.attn.qkv.bias", "blocks.1.attn.proj.bias"}) {
    CAPTURE(std::string(zero));
    CHECK(deviation(zero) == 0);
  }
  // xavier over [3D, D]: variance 2 / (in + out)
  CHECK(deviation("blocks.0.attn.qkv.weight") ==
        doctest::Approx(std::sqrt(2.0 / 384)).epsilon(0.02));
  CHECK(deviation("blocks.1.mlp.fc1.weight") ==
        doctest::Approx(std::sqrt(2.0 / 480)).epsilon(0.02));
  CHECK(deviation("patch_embed.proj.weight") ==
        doctest::Approx(std::sqrt(1.0 / 192)).epsilon(0.02));
  CHECK(deviation("blocks.0.mlp.fc1.bias") == doctest::Approx(1e-6).epsilon(0.2));
  CHECK(deviation("cls_token") == doctest::Approx(1e-6).epsilon(0.3));
  CHECK(deviation("pos_embed") == doctest::Approx(0.02).epsilon(0.1));
  CHECK(deviation("norm.weight") == 1);
  config.run.seed = 43;
  const auto other = start_model(config, tiny_data(), notices);
  CHECK(other->store().find("cls_token").to_vector() !=
        model->store().find("cls_token").to_vector());
  config.model.name = "pervit_tiny_32";
  config.model.settings = {};
  CHECK(contains(message_of([&] { notices_of(config); }), "got pervit_tiny_32"));
}

TEST_CASE("heads are scaled and their biases set when asked, those of a file too") {
  TrainConfig config = plain_config();
  Notices notices;
  const auto plain = start_model(config, tiny_data(), notices);
  config.weights.head_scale = 0.5;
  config.weights.head_bias = -2;
  const auto model = start_model(config, tiny_data(), notices);
  CHECK(model->store().find("head.weight").at(7) == plain->store().find("head.weight").at(7) / 2);
  CHECK(model->store().find("head.bias").at(3) == -2);
  CHECK(model->store().find("blocks.0.mlp.fc1.bias").at(3) == 0);

  const TemporaryFolder folder;
  config.weights.checkpoint = (folder / "half.safetensors").string();
  save_model(config.weights.checkpoint, *model);
  const auto loaded = start_model(config, tiny_data(), notices);
  CHECK(loaded->store().find("head.weight").at(7) == plain->store().find("head.weight").at(7) / 4);
}

TEST_CASE("a classifier from an encoder begins with a head of deviation 2e-5 and no bias") {
  const TemporaryFolder folder;
  TrainConfig encoder = tiny_mae_config(), config = plain_config();
  for (TrainConfig* c : {&encoder, &config}) c->model.settings["embed_dim"] = "192";
  config.weights.finetune = (folder / "encoder.safetensors").string();
  save_model(config.weights.finetune, make_trainer(encoder).model());
  config.model.settings["global_pool"] = "avg";
  config.weights.head_scale = 0.001;  // MAE's recipes: of 0.02
  Notices notices;
  const auto model = start_model(config, tiny_data(), notices);
  double squares = 0;
  const std::vector<double> weight = model->store().find("head.weight").to_vector();
  REQUIRE(weight.size() == 1920);
  for (const double value : weight) squares += value * value;
  CHECK(std::sqrt(squares / 1920) == doctest::Approx(2e-5).epsilon(0.05));
  for (const double value : model->store().find("head.bias").to_vector()) CHECK(value == 0);
  for (const double value : model->store().find("fc_norm.weight").to_vector()) CHECK(value == 1);
  REQUIRE(notices.texts().size() == 1);
  CHECK(contains(notices.texts()[0], "fc_norm.weight  -           [192]"));
  CHECK(contains(notices.texts()[0], "decoder_*"));
}

TEST_CASE("expressions that are none, or that match nothing, are refused") {
  TrainConfig config = plain_config();
  config.frozen.patterns = "blocks (";
  CHECK(contains(message_of([&] { check_config(config); }), "( is not a regular expression"));
  config.frozen.patterns = "blocks nothing";
  CHECK(contains(message_of([&] { notices_of(config); }), "expression 2 of"));
  config.frozen.patterns = ".";
  CHECK(contains(message_of([&] { notices_of(config); }), "no parameters are left to train"));
  config = plain_config();
  config.step.optimizer.named_rates = {{"head", 2}, {"hea_d", 2}};
  CHECK(contains(message_of([&] { notices_of(config); }), "--lr-scale: "));
  CHECK(contains(message_of([&] { notices_of(config); }), "'hea_d' matches no parameter"));
}

TEST_CASE("fine-tuning at another size and class count says all in one table, and trains") {
  const TemporaryFolder folder;
  const std::string file = (folder / "small.safetensors").string();
  {
    Trainer small = make_trainer(plain_config());
    small.train_step();
    save_model(file, small.model());
  }
  TrainConfig config = plain_config();
  config.weights.finetune = file;
  config.model.settings["img_size"] = "64";
  config.step.optimizer.layer_decay = 0.7;
  const BuiltinOptions options{.seed = 3, .train_size = 24, .test_size = 8};
  /// The same pictures under a hundred names.
  class Hundred : public Builtin {
   public:
    using Builtin::Builtin;
    [[nodiscard]] const std::vector<std::string>& class_names() const override {
      static const std::vector<std::string> names(100, "a class");
      return names;
    }
  };
  const Datasets data{std::make_shared<Hundred>(Split::train, options),
                      std::make_shared<Hundred>(Split::test, options)};
  Notices notices;
  auto model = start_model(config, data, notices);
  REQUIRE(notices.texts().size() == 2);
  CHECK(contains(notices.texts()[0], ": copied 29 of 32 tensors; the others:"));
  CHECK(contains(notices.texts()[0],
                 "pos_embed    [1, 17, 12]  [1, 65, 12]  resized to the model's grid"));
  CHECK(contains(notices.texts()[1], "pos_embed was resized from 4x4 to 8x8 patches as in DeiT's"));
  CHECK(contains(notices.texts()[0], "head.weight  [10, 12]     [100, 12]    reinitialised"));
  CHECK(contains(notices.texts()[0], "head.bias    [10]         [100]        reinitialised"));
  CHECK(model->info().img_size == std::array<std::int64_t, 2>{64, 64});
  Trainer trainer = make_trainer(config, data, std::move(model));
  const std::vector<double> losses = losses_of(trainer);
  CHECK(std::isfinite(losses.back()));
}

TEST_CASE("fine-tuning at another shape of as many patches resizes the positions") {
  const TemporaryFolder folder;
  TrainConfig config = plain_config();
  config.model.settings["img_size"] = "16x64";  // 2x8 patches, and 4x4 are as many
  Notices none;
  const auto wide = start_model(config, tiny_data(), none);
  config.weights.finetune = (folder / "wide.safetensors").string();
  save_model(config.weights.finetune, *wide);
  config.model.settings["img_size"] = "32";
  const auto started = [&] {
    Notices notices;
    return start_model(config, tiny_data(), notices)->store().find("pos_embed").to_vector();
  };
  CHECK(contains(notices_of(config), "pos_embed was resized from 2x8 to 4x4 patches"));
  const std::vector<double> plain = started();
  CHECK(plain != wide->store().find("pos_embed").to_vector());
  config.weights.positions.resize = PosResize::timm;
  const std::vector<double> antialiased = started();
  CHECK(antialiased != plain);

  write_safetensors(config.weights.finetune, state_of(*wide));  // which says no grid
  CHECK(contains(notices_of(config), "using the square 4x4"));
  config.weights.positions.grid = "2x8";
  CHECK(started() == antialiased);
  for (const char* const none_such : {"16", "2x", "0x8", "-2x8", "2x8x1", "x", "[2, 2.5]"}) {
    CAPTURE(std::string(none_such));
    config.weights.positions.grid = none_such;
    CHECK(contains(message_of([&] { check_config(config); }), "--pos-grid: got "));
  }
  config.weights = {};
  config.weights.positions.grid = "2x8";
  CHECK(contains(message_of([&] { check_config(config); }), "--pos-grid 2x8 needs --finetune"));
}

TEST_CASE("fine-tuning from a checkpoint of torch.save, and a teacher from one") {
  const TemporaryFolder folder;
  const std::string file = (folder / "checkpoint.pth").string();
  Trainer trainer = make_trainer(plain_config());
  TensorMap wrapped;
  for (const auto& [name, tensor] : state_of(trainer.model())) wrapped["module." + name] = tensor;
  const auto linear = make_model("linear", {{"img_size", {32, 32}}, {"num_classes", 10}}, 1);
  tests::PyStorages storages;
  const std::string student = tests::torch_state(wrapped, storages),
                    teacher = tests::torch_state(state_of(*linear), storages);
  write_file_atomically(
      file, tests::torch_zip(tests::py_dict({{"model", student}, {"teacher", teacher}}), storages));
  TrainConfig config = plain_config();
  config.weights.finetune = file;
  CHECK(
      contains(message_of([&] { notices_of(config); }), "--weights-key selects one of \"model\""));
  config.weights.weights_key = "model";
  check_config(config);
  CHECK(notices_of(config) ==
        file +
            ": its head is kept: the model does not name its classes: they are matched in the "
            "data set's order, class 0 is \"disc\"\n" +
            file + ": copied 32 of 32 tensors\n" + file +
            ": all names begin with \"module.\", which is removed\n" + file +
            ": does not record the grid of its 16 patches; using the "
            "square 4x4 (--pos-grid HxW sets another)\n");

  classification_of(config).objective.distillation = Distillation::soft;
  classification_of(config).objective.teacher.model = "linear";
  classification_of(config).objective.teacher.checkpoint = file;
  classification_of(config).objective.teacher.weights_key = "model";
  CHECK(contains(message_of([&] { make_trainer(config); }), "weights do not fit linear"));
  classification_of(config).objective.teacher.weights_key = "teacher";
  check_config(config);
  Trainer taught = make_trainer(config);
  taught.train_step();

  classification_of(config).objective.teacher.checkpoint.clear();
  classification_of(config).objective.teacher.model.clear();
  classification_of(config).objective.distillation = Distillation::none;
  CHECK_THROWS_AS(check_config(config), UsageError);
  classification_of(config).objective.teacher.weights_key.clear();
  config.weights.finetune.clear();
  CHECK_THROWS_AS(check_config(config), UsageError);
}

TEST_CASE("a run that is resumed does not need the files that it started from") {
  const TemporaryFolder folder;
  TrainConfig config = plain_config();
  config.weights.finetune = (folder / "features.safetensors").string();
  save_model(config.weights.finetune, make_trainer(plain_config()).model());
  Trainer trainer = make_trainer(config);
  trainer.train_step();
  run_state_file(folder / "state", trainer.state()).write();
  std::filesystem::remove(config.weights.finetune);
  CHECK(contains(message_of([&] { make_trainer(config); }), "features.safetensors"));

  const Datasets data = tiny_data();
  Notices notices;
  Trainer resumed = make_trainer(config, data, build_model(config, *data.train, notices));
  resumed.resume(folder / "state");
  CHECK(bits_of(resumed) == bits_of(trainer));
}

TEST_CASE("weights that fit whole are said in one line") {
  const TemporaryFolder folder;
  const std::string file = (folder / "weights.safetensors").string();
  Trainer trainer = make_trainer(plain_config());
  save_model(file, trainer.model());
  TrainConfig config = plain_config();
  config.weights.checkpoint = file;
  CHECK(notices_of(config) == file + ": copied 32 of 32 tensors\n");
}

}  // namespace fovea
