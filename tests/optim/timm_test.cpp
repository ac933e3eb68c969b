// Against what timm and PyTorch compute in float64: tests/optim/timm_reference.py wrote the file.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/augment/blur.h"
#include "engine/autograd.h"
#include "engine/formats/safetensors.h"
#include "models/registry.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/reduce.h"
#include "tests/support/shapes.h"
#include "tests/support/temporary_folder.h"
#include "train/optim/ema.h"
#include "train/optim/gradients.h"
#include "train/optim/layer_decay.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"
#include "train/tasks/class_losses.h"
#include "train/tasks/class_weights.h"

namespace fovea {
namespace {

const SafetensorsFile& reference() {
  static const SafetensorsFile file =
      read_safetensors(FOVEA_SOURCE_DIR "/tests/optim/timm.safetensors");
  return file;
}

Tensor stored(const std::string& name) { return reference().tensors.at(name); }

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  REQUIRE(x.size() == y.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    size += y[i] * y[i];
  }
  return std::sqrt(difference / size);
}

const std::vector<std::string> kNames{"wide", "tall", "conv", "bias", "pos", "thin"};
constexpr std::int64_t kSteps = 40;

/// The reference's parameters at their start; bias and pos are not decayed.
struct Parameters {
  explicit Parameters(DType dtype) : store(0, {dtype, {}}) {
    const Scope scope(store);
    const NoGrad no_grad;
    for (const std::string& name : kNames) {
      const Tensor start = stored("start/" + name);
      const bool exempt = name == "bias" || name == "pos";
      const Tensor p =
          scope.param(name, start.shape(), constant(0), exempt ? Decay::no : Decay::yes);
      p.copy_(start);
    }
  }
  void set_gradients(std::int64_t step) const {
    for (const Parameter& p : store.parameters()) {
      const Tensor all = stored("gradient/" + p.name);
      const std::int64_t count = p.tensor.numel();
      const Tensor own = all.alias(p.tensor.shape(), p.tensor.strides(), step * count);
      p.tensor.set_grad(own.to(p.tensor.dtype()).clone());
    }
  }
  ParameterStore store;
};

OptimizerOptions options_of(const std::string& name) {
  return {.kind = parse_name<OptimizerKind>("optimizer", name)};
}

/// The schedule of the reference, by its name there.
ScheduleOptions schedule_of(const std::string& name) {
  ScheduleOptions o;
  o.lr = 0.8;
  o.min_lr = 0.01;
  o.warmup_lr = 0.05;
  o.epochs = 20;
  o.warmup_epochs = 3;
  o.warmup_prefix = name.ends_with("_prefix");
  o.kind = parse_name<ScheduleKind>("schedule", name.substr(0, name.find('_')));
  if (name == "poly") o.decay_rate = 0.7;
  if (name == "step") o.decay_epochs = 7, o.decay_rate = 0.3;
  if (name == "multistep") o.milestones = {6, 11, 17}, o.decay_rate = 0.5;
  if (name == "wsd") o.decay_epochs = 0.2;
  if (name == "wsd_epochs") o.decay_epochs = 6;
  if (name == "wsd_prefix") o.decay_epochs = 0.3;
  return o;
}

const std::vector<std::string> kSchedules{"cosine",     "cosine_prefix", "linear",   "poly",
                                          "step",       "multistep",     "constant", "wsd",
                                          "wsd_epochs", "wsd_prefix"};

}  // namespace

TEST_CASE("every optimizer is PyTorch's or timm's, over forty steps of falling rates") {
  for (const std::string name : {"adamw", "sgd", "momentum", "lamb", "lion", "muon"}) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Parameters parameters(dtype);
      Optimizer optimizer(parameters.store, options_of(name));
      for (std::int64_t step = 0; step < kSteps; ++step) {
        parameters.set_gradients(step);
        optimizer.step(0.02 / static_cast<double>(1 + step));
      }
      for (const Parameter& p : parameters.store.parameters()) {
        CAPTURE(name);
        CAPTURE(p.name);
        CHECK(distance(p.tensor, stored(name + "/" + p.name)) <
              (dtype == DType::f64 ? 1e-12 : 1e-5));
      }
    }
  }
}

TEST_CASE("Muon takes matrices and filters, AdamW the rest") {
  CHECK(detail::suits_muon({6, 10}));
  CHECK(detail::suits_muon({8, 3, 3, 3}));
  CHECK(!detail::suits_muon({7}));
  CHECK(!detail::suits_muon({1, 5, 8}));      // positions
  CHECK(!detail::suits_muon({16, 1, 3, 3}));  // depthwise
  CHECK(!detail::suits_muon({2, 40}));        // too thin
  CHECK(!detail::suits_muon({4, 516}));       // too long
  CHECK(detail::suits_muon({4, 512}));
}

TEST_CASE("every schedule has timm's rates, per epoch and per update") {
  for (const std::string& name : kSchedules) {
    CAPTURE(name);
    ScheduleOptions o = schedule_of(name);
    for (const bool on_updates : {false, true}) {
      o.on_updates = on_updates;
      constexpr std::int64_t kUpdates = 4;
      const std::vector<double> rates =
          stored((on_updates ? "updates/" : "epochs/") + name).to_vector();
      const std::int64_t cooldown = name == "cosine" ? 3 : 0;
      const std::int64_t ticks = total_epochs(o, cooldown) * (on_updates ? kUpdates : 1);
      CHECK(ticks == std::ssize(rates));
      for (std::size_t i = 0; i < rates.size(); ++i) {
        CAPTURE(i);
        const auto tick = static_cast<std::int64_t>(i);
        const double ours = learning_rate(o, on_updates ? tick : tick * kUpdates, kUpdates);
        CHECK(ours == doctest::Approx(rates[i]).epsilon(1e-13));
      }
    }
  }
}

TEST_CASE("a plateau lowers the rate when timm's does") {
  ScheduleOptions o = schedule_of("plateau");
  o.decay_rate = 0.4;
  o.patience_epochs = 2;
  const std::vector<double> metrics = stored("plateau/metrics").to_vector();
  const std::vector<double> rates = stored("plateau/rates").to_vector();
  PlateauState state;
  for (std::size_t epoch = 0; epoch < metrics.size(); ++epoch) {
    CAPTURE(epoch);
    const auto number = static_cast<std::int64_t>(epoch);
    CHECK(learning_rate(o, number * 5 + 3, 5, state) ==
          doctest::Approx(rates[epoch]).epsilon(1e-13));
    note_metric(o, number, metrics[epoch], true, state);
  }
  CHECK(state.lr == 0.01);  // the last reductions end at the floor
}

TEST_CASE("averages warm up as ModelEmaV3 does") {
  const std::vector<double> factors = stored("ema").to_vector();
  const ParameterStore store(0, {});
  const Ema ema(store, 0.99, true);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    CHECK(ema.decay_at(static_cast<std::int64_t>(i) + 1) ==
          doctest::Approx(factors[i]).epsilon(1e-13));
  }
}

TEST_CASE("adaptive clipping is timm's") {
  const Parameters parameters(DType::f64);
  parameters.set_gradients(0);
  constexpr double kScale = 0.1;  // what the update multiplies by
  clip_adaptively(parameters.store, 0.05, kScale);
  for (const Parameter& p : parameters.store.parameters()) {
    CAPTURE(p.name);
    std::vector<double> ours = p.tensor.grad().to_vector();
    for (double& value : ours) value *= kScale;
    CHECK(distance(from_values(p.tensor.shape(), ours, {DType::f64, {}}), stored("agc/" + p.name)) <
          1e-13);
  }
}

TEST_CASE("adaptive clipping takes weights for at least 1e-3 long and leaves heads alone") {
  ParameterStore store(0, {DType::f64, {}});
  const std::pair<const char*, Role> made[] = {{"fc.weight", Role::other},
                                               {"head.weight", Role::head},
                                               {"head_dist.weight", Role::distillation_head}};
  for (const auto& [name, role] : made) {
    const Tensor p = Scope(store).as(role).param(name, {2, 2}, constant(0));
    p.set_grad(from_values({2, 2}, {3, 4, 3e-5, 4e-5}, {DType::f64, {}}));
  }
  clip_adaptively(store, 0.5);  // a row's norm is at most 5e-4
  const std::vector<double> clipped = store.find("fc.weight").grad().to_vector();
  CHECK(clipped[0] == doctest::Approx(3e-4).epsilon(1e-12));
  CHECK(clipped[1] == doctest::Approx(4e-4).epsilon(1e-12));
  CHECK(clipped[2] == 3e-5);
  CHECK(clipped[3] == 4e-5);
  CHECK(store.find("head.weight").grad().to_vector()[1] == 4);
  CHECK(store.find("head_dist.weight").grad().to_vector()[1] == 4);
}

TEST_CASE("clipping by value bounds every element, and NaN stays to be found") {
  ParameterStore store(0, {});
  const Tensor p = Scope(store).param("w", {4}, constant(0));
  p.set_grad(from_values({4}, {0.5, -3, 2, NAN}));
  clip_by_value(store, 1);
  const std::vector<double> clipped = p.grad().to_vector();
  CHECK(clipped[0] == 0.5);
  CHECK(clipped[1] == -1);
  CHECK(clipped[2] == 1);
  CHECK(std::isnan(clipped[3]));
}

TEST_CASE("layer-wise rates are timm's, by name") {
  const nlohmann::json small{{"img_size", {32, 32}}, {"patch_size", 8}, {"num_classes", 10},
                             {"embed_dim", 12},      {"depth", 3},      {"num_heads", 2}};
  const std::map<std::string, std::string> models{{"vit", "vit_tiny_patch16_224"},
                                                  {"vit_avg", "vit_tiny_patch16_224"},
                                                  {"deit", "deit_tiny_distilled_patch16_224"}};
  for (const auto& known : models) {
    const auto& name = known.first;
    CAPTURE(name);
    nlohmann::json overrides = small;
    if (name == "vit_avg") overrides["global_pool"] = "avg", overrides["class_token"] = false;
    const auto model = make_model(known.second, overrides, 0);
    const auto expected = nlohmann::json::parse(reference().metadata.at("layers/" + name));
    CHECK(expected.size() == model->store().parameters().size());
    const LayerScales scales(model->store(), 0.65);
    for (const Parameter& p : model->store().parameters()) {
      CAPTURE(p.name);
      CHECK(scales.of(p) == doctest::Approx(expected.at(p.name).get<double>()).epsilon(1e-14));
    }
  }
}

TEST_CASE("the other families: stems and positions are layer 0, heads the last") {
  for (const char* name : {"cpvt_tiny_peg0_patch4_32", "pervit_tiny_32", "pit_tiny_32"}) {
    CAPTURE(std::string(name));
    const auto model = tests::model_of_shapes(name);
    const LayerScales scales(model->store(), 0.5);
    for (const Parameter& p : model->store().parameters()) {
      CAPTURE(p.name);
      const bool in_trunk = p.name.starts_with("blocks.") || p.name.starts_with("norm.") ||
                            p.name.starts_with("fc_norm.") || p.name.starts_with("head.");
      CHECK((scales.layer_of(p) == 0) == !in_trunk);
    }
    for (const Parameter& p : model->store().parameters()) {
      if (p.name == "head.weight") CHECK(scales.of(p) == 1);
      if (p.name == "norm.weight") CHECK(scales.of(p) == 0.5);
      if (p.name == "blocks.11.mlp.fc1.weight") CHECK(scales.layer_of(p) == 12);
    }
  }
  const ParameterStore none(0, {});
  CHECK(contains(message_of([&] { LayerScales(none, 0); }), "0 < decay <= 1"));
}

TEST_CASE("MAE's rule counts the last norm after the last block, and nothing else apart") {
  const auto model = tests::model_of_shapes("vit_tiny_patch4_32", {{"depth", 3}});
  const LayerScales timm(model->store(), 0.5), mae(model->store(), 0.5, LastNorm::with_head);
  for (const Parameter& p : model->store().parameters()) {
    CAPTURE(p.name);
    const bool is_norm = p.name.starts_with("norm.");
    CHECK(mae.layer_of(p) == timm.layer_of(p) + (is_norm ? 1 : 0));
    if (is_norm) CHECK(mae.of(p) == 1);
  }
}

TEST_CASE("both rules in numbers: a ViT of three blocks, 0.65 a layer") {
  struct Expected {
    const char *name, *pooling;
    double timm, mae;
  };
  constexpr double first = 0.17850625, third = 0.4225;  // 0.65^4, 0.65^2
  for (const Expected& e : {Expected{"cls_token", "token", first, first},
                            {"pos_embed", "token", first, first},
                            {"patch_embed.proj.weight", "token", first, first},
                            {"blocks.0.attn.qkv.weight", "token", 0.274625, 0.274625},
                            {"blocks.1.norm1.bias", "token", third, third},
                            {"blocks.2.mlp.fc2.weight", "token", 0.65, 0.65},
                            {"norm.weight", "token", 0.65, 1},
                            {"head.weight", "token", 1, 1},
                            {"cls_token", "avg", first, first},
                            {"blocks.2.norm2.weight", "avg", 0.65, 0.65},
                            {"fc_norm.weight", "avg", 1, 1},
                            {"head.bias", "avg", 1, 1}}) {
    CAPTURE(std::string(e.name));
    const auto model =
        tests::model_of_shapes("vit_tiny_patch4_32", {{"depth", 3}, {"global_pool", e.pooling}});
    const LayerScales timm(model->store(), 0.65), mae(model->store(), 0.65, LastNorm::with_head);
    int found = 0;
    for (const Parameter& p : model->store().parameters()) {
      if (p.name != e.name) continue;
      ++found;
      CHECK(timm.of(p) == doctest::Approx(e.timm).epsilon(1e-14));
      CHECK(mae.of(p) == doctest::Approx(e.mae).epsilon(1e-14));
    }
    CHECK(found == 1);
  }
}

TEST_CASE("a masked autoencoder's rates fall through the encoder; the decoder's do not") {
  const auto model = tests::model_of_shapes(
      "mae_vit_tiny_patch4_32", {{"depth", 3}, {"decoder_depth", 5}, {"pos_embed", "learned"}});
  const LayerScales scales(model->store(), 0.5);
  for (const Parameter& p : model->store().parameters()) {
    CAPTURE(p.name);
    const bool in_decoder = p.name.starts_with("decoder_") || p.name == "mask_token";
    if (in_decoder) CHECK(scales.of(p) == 1);
    if (p.name == "pos_embed") CHECK(scales.of(p) == 1.0 / 16);
    if (p.name == "blocks.2.mlp.fc1.weight") CHECK(scales.of(p) == 0.5);
  }
}

TEST_CASE("binary cross-entropy with every option is timm's, and so is its gradient") {
  const std::map<std::string, std::pair<double, BceOptions>> cases{
      {"plain", {0, {}}},
      {"smooth", {0.1, {}}},
      {"threshold", {0.1, {.threshold = 0.2}}},
      {"sum", {0.1, {.sum_classes = true}}},
      {"weight", {0.1, {.pos_weight = 2.5}}},
      {"classes", {0.1, {.pos_weight = 2.5, .class_weights = stored("weighted/weights")}}}};
  for (const auto& known : cases) {
    const std::string& name = known.first;
    const auto& [smoothing, options] = known.second;
    for (const std::string kind : {"labels", "soft"}) {
      CAPTURE(name);
      CAPTURE(kind);
      const std::string prefix = "bce/" + name + "/" + kind + "/";
      const Tensor z = stored("bce/logits").clone();
      z.set_requires_grad();
      Targets targets{stored("bce/labels"), {}};
      if (kind == "soft") targets = {{}, stored("bce/soft")};
      const Tensor loss = bce_loss(z, targets, smoothing, options);
      backward(loss);
      CHECK(loss.item() == doctest::Approx(stored(prefix + "loss").item()).epsilon(1e-13));
      CHECK(distance(z.grad(), stored(prefix + "grad")) < 1e-13);
    }
  }
}

TEST_CASE("weights of classes by their numbers of images are timm's") {
  const std::vector<double> given = stored("class_weights/counts").to_vector();
  const std::vector<std::int64_t> counts(given.begin(), given.end());
  using enum ClassWeighting;
  for (const auto& weighting : std::map<std::string, ClassWeightOptions>{
           {"inv_freq", {.by = inv_freq}},
           {"power", {.by = inv_freq, .exponent = 0.5}},
           {"largest", {.by = inv_freq, .exponent = 0.5, .largest = 1.5}},
           {"effective_num", {.by = effective_num}},
           {"beta", {.by = effective_num, .beta = 0.9}}}) {
    INFO(weighting.first);
    const std::vector<double> weights = class_weights(counts, weighting.second);
    const std::vector<double> expected =
        stored("class_weights/" + weighting.first).to_vector();  // f32
    REQUIRE(weights.size() == expected.size());
    for (std::size_t k = 0; k < weights.size(); ++k)
      CHECK(weights[k] == doctest::Approx(expected[k]).epsilon(1e-6));
  }
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g"};
  CHECK(class_weights_text(class_weights(counts, {.by = inv_freq}), counts, names) ==
        "classes weigh from 0.00112 (g, 3000 images) to 3.36 (b, 1 image); 1 without images count "
        "as with one");
}

TEST_CASE(
    "cross-entropy with weights of classes is PyTorch's, soft targets count by their shares") {
  const Tensor weights = stored("weighted/weights"), labels = stored("bce/labels");
  const Tensor z = stored("bce/logits").clone();
  z.set_requires_grad();
  const Tensor weighted = weighted_targets({labels, {}}, 0, weights);
  const Tensor loss = weighted_class_loss(z, weighted);
  backward(loss);
  CHECK(loss.item() == doctest::Approx(stored("weighted/loss").item()).epsilon(1e-13));
  CHECK(distance(z.grad(), stored("weighted/grad")) < 1e-13);
  const double sum = ops::sum(weighted).item();
  CHECK(weighted_class_loss(z, weighted, 2 * sum).item() ==
        doctest::Approx(loss.item() / 2).epsilon(1e-13));

  const Tensor soft = ops::one_hot(labels, 7, DType::f64) * 0.9 + 0.1 / 7;
  const double of_soft = weighted_class_loss(z, weighted_targets({{}, soft}, 0, weights)).item();
  CHECK(weighted_class_loss(z, weighted_targets({labels, {}}, 0.1, weights)).item() ==
        doctest::Approx(of_soft).epsilon(1e-13));
  const Tensor equal = ones({7}, {DType::f64, {}});
  CHECK(weighted_class_loss(z, weighted_targets({{}, soft}, 0, equal)).item() ==
        doctest::Approx(ops::soft_cross_entropy(z, soft).item()).epsilon(1e-13));
}

TEST_CASE("the loss of consistent splits is timm's, and so is its gradient") {
  for (const std::string smoothing : {"0.0", "0.1"}) {
    CAPTURE(smoothing);
    const Tensor z = stored("jsd/logits").clone();
    z.set_requires_grad();
    const Tensor loss = jsd_loss(z, stored("jsd/labels"), std::stod(smoothing), {3});
    backward(loss);
    CHECK(loss.item() ==
          doctest::Approx(stored("jsd/" + smoothing + "/loss").item()).epsilon(1e-13));
    CHECK(distance(z.grad(), stored("jsd/" + smoothing + "/grad")) < 1e-13);
  }
  CHECK(contains(
      message_of([] { (void)jsd_loss(stored("jsd/logits"), stored("jsd/labels"), 0, {4}); }),
      "15 rows in splits of 4"));
}

TEST_CASE("the blur of --gaussian-blur-prob is torchvision's but for ties in rounding") {
  const std::vector<double> pixels = stored("blur/image").to_vector();  // [3, H, W]
  Image image(stored("blur/image").size(1), stored("blur/image").size(2));
  const std::int64_t area = image.height * image.width;
  const auto planar = [&](const Image& from, std::int64_t i) {
    return static_cast<double>(from.pixels[static_cast<std::size_t>(i % area * 3 + i / area)]);
  };
  for (std::int64_t i = 0; i < 3 * area; ++i)
    image.pixels[static_cast<std::size_t>(i % area * 3 + i / area)] =
        static_cast<std::uint8_t>(pixels[static_cast<std::size_t>(i)]);
  for (const std::string deviation : {"0.1", "0.45", "1.0", "2.0"}) {
    CAPTURE(deviation);
    const Image blurred = gaussian_filter(image, 23, std::stod(deviation));
    const std::vector<double> expected = stored("blur/" + deviation).to_vector();
    int differ = 0;
    double most = 0;
    for (std::int64_t i = 0; i < 3 * area; ++i) {
      const double difference =
          std::abs(planar(blurred, i) - expected[static_cast<std::size_t>(i)]);
      differ += difference > 0 ? 1 : 0;
      most = std::max(most, difference);
    }
    CHECK(most <= 1);
    CHECK(differ <= 1);  // of 2418 values
  }
}

}  // namespace fovea
