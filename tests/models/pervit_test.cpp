// PerViT: counts, what Phi_p is at the start and stays, once per step, and settings that are
// refused.
#include "models/pervit.h"
#include "models/classifier.h"
#include "models/model_as.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "models/summary.h"
#include "ops/loss.h"
#include "ops/reduce.h"
#include "tests/models/outputs.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"
#include "tests/support/shapes.h"
#include "train/optim/optimizer.h"

using namespace fovea;
using nlohmann::json;
using tests::check_error;
using tests::logits_of;
using tests::worst_difference;

namespace {

/// Two stages on a 3x3 grid.
json tiny_pervit(const json& more = json::object()) {
  json config{{"family", "pervit"},  {"img_size", {12, 12}},
              {"num_classes", 5},    {"convstem_dims", {3, 6, 8}},
              {"emb_dims", {8, 12}}, {"depths", {1, 2}},
              {"num_heads", 2}};
  config.update(more);
  return config;
}

Tensor random_images(std::int64_t count, std::int64_t side, DType dtype) {
  return rand_normal({count, 3, side, side}, {0, 1}, {7}, {dtype, {}});
}

Context context(bool training, DType activations) {
  Context ctx;
  ctx.training = training;
  ctx.activations = activations;
  return ctx;
}

/// Adds noise to every parameter, so that no two are equal.
void disturb(Model& model) {
  const NoGrad no_grad;
  std::uint64_t stream = 0;
  for (const Parameter& p : model.store().parameters()) {
    p.tensor.copy_(p.tensor + rand_normal(p.tensor.shape(), {0, 0.2}, {5, stream++}));
  }
}

/// Adds the gradients of the mean loss of `images`, weighted.
void add_gradients(Model& model, const Tensor& images, const Tensor& labels, double weight) {
  Context ctx = context(true, images.dtype());
  backward(ops::cross_entropy(model_as<Classifier>(model).forward(images, ctx).logits, labels) *
           weight);
}

Tensor some_labels(std::int64_t count) {
  std::vector<double> labels;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<double>(i % 5));
  return from_values({count}, labels, {DType::i64, {}});
}

void step(Model& model, Optimizer& optimizer, const Tensor& images) {
  model.store().zero_grad();
  add_gradients(model, images, some_labels(images.size(0)), 1);
  model.finish_backward();
  optimizer.step(1e-2);
}

std::map<std::string, std::vector<double>> gradients_of(const Model& model) {
  std::map<std::string, std::vector<double>> gradients;
  for (const Parameter& p : model.store().parameters()) {
    if (p.tensor.grad().defined()) gradients[p.name] = p.tensor.grad().to_vector();
  }
  return gradients;
}

bool in_position_attention(const std::string& name) {
  return name.find(".activation.") != std::string::npos || name.starts_with("rpe_");
}

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("parameter counts and multiply-adds are those of the official models") {
  struct Size {
    std::string name;
    std::int64_t parameters, stem, cpe, phi_p;
    double giga, giga_of_paper;
  };
  for (const Size& size : {Size{"tiny", 7591000, 212352, 25440, 35312, 1.75, 1.55},
                           Size{"small", 21317672, 842880, 43200, 139744, 4.75, 4.418},
                           Size{"medium", 43723936, 1373664, 61680, 313296, 9.44, 8.967}}) {
    INFO(size.name);
    const auto model = tests::model_of_shapes("pervit_" + size.name + "_224");
    std::map<std::string, std::int64_t> part;
    for (const Parameter& p : model->store().parameters()) {
      const bool cpe = p.name.find(".conv.proj.") != std::string::npos;
      part[in_position_attention(p.name)        ? "phi_p"
           : cpe                                ? "cpe"
           : p.name.starts_with("conv_layers.") ? "stem"
                                                : "rest"] += p.tensor.numel();
    }
    CHECK(model->store().parameter_count() == size.parameters);
    CHECK(part["stem"] == size.stem);
    CHECK(part["cpe"] == size.cpe);
    CHECK(part["phi_p"] == size.phi_p);
    CHECK(position_attention_parameters(model->store()) == size.phi_p);
    const SummaryNode root = summarize(*model);
    CHECK(std::abs(static_cast<double>(root.multiply_adds) * 1e-9 - size.giga) < 0.005);
    const auto of_paper = static_cast<double>(root.multiply_adds - root.attention) * 1e-9;
    CHECK(std::abs(of_paper - size.giga_of_paper) < 0.0005);  // the paper prints 1.6, 4.4, 9.0
  }
  CHECK(
      tests::model_of_shapes("pervit_tiny_224", {{"num_classes", 10}})->store().parameter_count() ==
      7312810);
  CHECK(preset("pervit_tiny_32")["convstem_dims"] == json({3, 64, 128}));
}

TEST_CASE("parameters have the official names, in the official order") {
  const auto model = make_model_from_config(tiny_pervit({{"depths", {1, 1}}}));
  std::vector<std::string> modules;
  for (const Parameter& p : model->store().parameters()) {
    std::string module = p.name.substr(0, p.name.rfind('.'));
    if (modules.empty() || modules.back() != module) modules.push_back(std::move(module));
  }
  const std::string stem = "conv_layers.conv_layers.", a = "blocks.0.", b = "blocks.1.";
  const std::string ppe = "attn.activation.";
  CHECK(modules == std::vector<std::string>{stem + "0.0",
                                            stem + "0.1",
                                            stem + "1.0",
                                            stem + "1.1",
                                            "conv_layers.conv1x1",
                                            "rpe_proj",
                                            a + "norm1",
                                            a + "res_path",
                                            a + ppe + "conv1",
                                            a + ppe + "conv2",
                                            a + ppe + "gn1",
                                            a + ppe + "gn2",
                                            a + "attn.to_qkv",
                                            a + "attn.proj",
                                            a + "conv.proj",
                                            a + "norm2",
                                            a + "mlp.fc1",
                                            a + "mlp.fc2",
                                            b + "norm1",
                                            b + ppe + "conv1",
                                            b + ppe + "conv2",
                                            b + ppe + "gn1",
                                            b + ppe + "gn2",
                                            b + "attn.to_qkv",
                                            b + "attn.proj",
                                            b + "conv.proj",
                                            b + "norm2",
                                            b + "mlp.fc1",
                                            b + "mlp.fc2",
                                            "norm",
                                            "head"});
  for (const Parameter& p : model->store().parameters()) {
    INFO(p.name);
    CHECK((p.decay == Decay::yes) == (p.tensor.rank() > 1));
  }
}

TEST_CASE("with an infinite bias of gn2 it is softmax attention") {
  const auto full = make_model_from_config(tiny_pervit(), 1, kF64);
  const auto plain = make_model_from_config(tiny_pervit({{"phi_p", false}}), 1, kF64);
  const NoGrad no_grad;
  for (const Parameter& p : full->store().parameters()) {
    if (p.name.ends_with("gn2.bias")) p.tensor.fill_(1e4);
  }
  TensorMap state = state_of(*full);
  std::erase_if(state, [](const auto& entry) { return in_position_attention(entry.first); });
  load_state(*plain, state);
  const Tensor images = random_images(3, 12, DType::f64);
  CHECK(worst_difference(logits_of(*full, images), logits_of(*plain, images)) < 1e-13);
}

TEST_CASE(
    "position attention starts narrow and low in the first block, wide and high in the last") {
  const auto starts = [](const char* init, const std::string& name) {
    const auto model =
        make_model_from_config(tiny_pervit({{"ppe_init", init}, {"ppe_init_noise", 0}}),
                               1);  // three blocks
    std::vector<double> values;
    for (const char* block : {"0", "1", "2"}) {
      const Tensor p =
          model->store().find("blocks." + std::string(block) + ".attn.activation." + name);
      REQUIRE(p.defined());
      for (const double value : p.to_vector()) CHECK(value == p.at(0));
      values.push_back(p.at(0));
    }
    return values;
  };
  const auto near = [](const std::vector<double>& values, const std::vector<double>& expected) {
    return worst_difference(values, expected) < 1e-6;
  };
  CHECK(near(starts("peripheral", "gn2.weight"), {3, 1.505, 0.01}));
  CHECK(near(starts("peripheral", "gn2.bias"), {-5, -0.5, 4}));
  CHECK(near(starts("conv", "gn2.weight"), {3, 3, 3}));
  CHECK(near(starts("conv", "gn2.bias"), {-5, -5, -5}));
  CHECK(near(starts("peripheral", "gn1.weight"), {1, 1, 1}));
  CHECK(near(starts("peripheral", "conv1.weight"), {0.02, 0.02, 0.02}));
}

TEST_CASE("hidden channels start equal and stay equal, bit by bit; heads and noise tell apart") {
  const Tensor images = random_images(8, 16, DType::f32);
  const auto model = make_model_from_config(tiny_pervit({{"img_size", {16, 16}}}), 1);
  Optimizer optimizer(model->store(), {});
  for (int i = 0; i < 5; ++i) step(*model, optimizer, images);
  const auto spread = [&](const std::string& name, std::int64_t channels, bool equal) {
    // [outputs, channels, ...] with channels = 0: along the first axis.
    const Tensor w = model->store().find(name);
    const Tensor first = ops::slice(w, channels == 0 ? 0 : 1, 0, 1);
    CHECK((worst_difference(w.to_vector(),
                            ops::expand(first, w.shape()).contiguous().to_vector()) == 0) == equal);
  };
  for (const std::string block : {"blocks.0", "blocks.1", "blocks.2"}) {
    INFO(block);
    spread(block + ".attn.activation.conv1.weight", 0, true);
    spread(block + ".attn.activation.conv1.weight", 1, true);
    spread(block + ".attn.activation.gn1.weight", 0, true);
    spread(block + ".attn.activation.conv2.weight", 1, true);
    spread(block + ".attn.activation.conv2.weight", 0, false);  // heads
    const Tensor kernel = model->store().find(block + ".attn.activation.conv1.weight");
    CHECK(kernel.at(0) != kernel.at(1));  // taps
  }
  spread("rpe_proj.weight", 0, true);
  const auto noisy = make_model_from_config(tiny_pervit({{"ppe_init_noise", 1e-3}}), 1);
  const Tensor conv1 = noisy->store().find("blocks.0.attn.activation.conv1.weight");
  CHECK(conv1.at(0) != conv1.at(1));
  CHECK(std::abs(conv1.at(0) - 0.02) < 0.01);
}

TEST_CASE("what is kept of position attention is what would be computed again") {
  const Tensor images = random_images(8, 12, DType::f32);
  const auto model = make_model_from_config(tiny_pervit(), 1);
  disturb(*model);
  const auto check_against_new = [&] {
    const auto fresh = make_model_from_config(tiny_pervit(), 2);
    load_state(*fresh, state_of(*model));
    CHECK(logits_of(*model, images) == logits_of(*fresh, images));
  };
  check_against_new();
  const std::vector<double> before = logits_of(*model, images);
  Optimizer optimizer(model->store(), {});
  step(*model, optimizer, images);
  check_against_new();  // after a step that trained with the kept values
  CHECK(logits_of(*model, images) != before);
  const auto other = make_model_from_config(tiny_pervit(), 3);
  disturb(*other);
  load_state(*model, state_of(*other));
  CHECK(logits_of(*model, images) == logits_of(*other, images));
}

TEST_CASE("one batch and the same images in two give the same gradients") {
  // Without the stem, whose batch norm looks at the batch.
  const json config = tiny_pervit({{"conv_stem", false}, {"patch_size", 4}});
  const Tensor images = random_images(4, 12, DType::f64), labels = some_labels(4);
  const auto whole = make_model_from_config(config, 1, kF64);
  const auto halves = make_model_from_config(config, 1, kF64);
  disturb(*whole);
  disturb(*halves);
  add_gradients(*whole, images, labels, 1);
  whole->finish_backward();
  for (const std::int64_t first : {0, 2}) {
    add_gradients(*halves, ops::slice(images, 0, first, first + 2).contiguous(),
                  ops::slice(labels, 0, first, first + 2).contiguous(), 0.5);
  }
  CHECK_FALSE(halves->store().find("blocks.0.attn.activation.gn2.bias").grad().defined());
  halves->finish_backward();
  const auto a = gradients_of(*whole), b = gradients_of(*halves);
  REQUIRE(a.size() == whole->store().parameters().size());
  REQUIRE(b.size() == a.size());
  for (const auto& entry : a) {
    INFO(entry.first);
    CHECK(worst_difference(entry.second, b.at(entry.first)) < 1e-12);
  }
  CHECK(norm_of(a.at("blocks.0.attn.activation.gn2.bias")) > 1e-6);
}

TEST_CASE("gradients do not depend on the number of threads") {
  const Tensor images = random_images(8, 16, DType::f32);
  const json config = tiny_pervit({{"img_size", {16, 16}}});
  std::vector<std::map<std::string, std::vector<double>>> results;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const auto model = make_model_from_config(config, 1);
    disturb(*model);
    add_gradients(*model, images, some_labels(8), 1);
    model->finish_backward();
    results.push_back(gradients_of(*model));
  }
  set_num_threads(1);
  CHECK(results[0] == results[1]);
}

TEST_CASE("a gradient of position attention that would be lost is an error") {
  const Tensor images = random_images(2, 12, DType::f32);
  const auto model = make_model_from_config(tiny_pervit(), 1),
             other = make_model_from_config(tiny_pervit(), 2);
  add_gradients(*model, images, some_labels(2), 1);
  load_state(*model, state_of(*other));
  check_error([&] { static_cast<void>(logits_of(*model, images)); }, "finish_backward()");
}

TEST_CASE("an image is seen alike alone and within a batch") {
  const Tensor images = random_images(8, 12, DType::f32);
  const auto model = make_model_from_config(tiny_pervit(), 1);
  disturb(*model);
  const std::vector<double> all = logits_of(*model, images);
  const std::vector<double> one = logits_of(*model, ops::slice(images, 0, 3, 4).contiguous());
  CHECK(worst_difference(one, {all.begin() + 15, all.begin() + 20}) < 1e-6);
}

TEST_CASE(
    "position attention stays f32 beside bf16 activations, and one query serves all for lrn") {
  const Tensor images = random_images(2, 12, DType::f32);
  for (const char* embed : {"euc", "lrn"}) {
    const auto model = make_model_from_config(tiny_pervit({{"ppe_embed", embed}}), 1);
    std::map<std::string, Tensor> shown;
    Context ctx = context(false, DType::bf16);
    ctx.tap = [&](std::string_view name, const Tensor& x) { shown[std::string(name)] = x; };
    const NoGrad no_grad;
    static_cast<void>(model->probe(images, ctx));
    const std::int64_t queries = std::string(embed) == "euc" ? 9 : 1;
    CHECK(shown.at("attn/1/bias").shape() == Shape{2, queries, 9});
    CHECK(shown.at("attn/1/bias").dtype() == DType::f32);
    CHECK(shown.at("phi_p/1").shape() == Shape{2, 9, 9});
    CHECK(shown.at("attn/1/qkv").shape() == Shape{2, 9, 36});
    CHECK(shown.at("feat/0").shape() == Shape{2, 9, 12});
    CHECK(shown.at("attn/1/qkv").dtype() == DType::bf16);
  }
}

TEST_CASE("the stem counts its batches, and files without the count load") {
  const auto model = make_model_from_config(tiny_pervit(), 1);
  Context ctx = context(true, DType::f32);
  static_cast<void>(model->probe(random_images(2, 12, DType::f32), ctx));
  static_cast<void>(model->probe(random_images(2, 12, DType::f32), ctx));
  const std::string count = "conv_layers.conv_layers.1.1.num_batches_tracked";
  CHECK(model->store().find(count).item() == 2);
  TensorMap state = state_of(*model);
  state.erase(count);
  const auto other = make_model_from_config(tiny_pervit(), 2);
  CHECK(load_state(*other, state).kept == std::vector<std::string>{count});
}

TEST_CASE("any square grid takes the weights; learned tables are resized to it") {
  const auto small = make_model_from_config(tiny_pervit(), 1);
  const auto large = make_model_from_config(tiny_pervit({{"img_size", {20, 20}}}), 2);
  load_state(*large, state_of(*small));
  CHECK(logits_of(*large, random_images(1, 20, DType::f32)).size() == 5);
  const auto lrn = make_model_from_config(tiny_pervit({{"ppe_embed", "lrn"}}), 1);
  const auto other =
      make_model_from_config(tiny_pervit({{"ppe_embed", "lrn"}, {"img_size", 20}}), 1);
  CHECK(load_state(*other, state_of(*lrn)).resized == std::vector<std::string>{"rpe_vec"});
  const auto learned = make_model_from_config(tiny_pervit({{"pos_embed", "learned"}}), 1);
  const auto resized =
      make_model_from_config(tiny_pervit({{"pos_embed", "learned"}, {"img_size", 20}}), 1);
  CHECK(load_state(*resized, state_of(*learned)).resized == std::vector<std::string>{"pos_embed"});
}

TEST_CASE("impossible settings are refused by name") {
  const auto refused = [](const json& change, const std::string& part) {
    check_error([&] { static_cast<void>(make_model_from_config(tiny_pervit(change))); }, part);
  };
  refused({{"img_size", {12, 16}}}, "img_size 12x16 is not square");
  refused({{"img_size", 14}}, "img_size 14 is not divisible by 4");
  refused({{"img_size", 4}}, "single token");
  refused({{"convstem_dims", {3, 6, 10}}}, "convstem_dims end with 10, but emb_dims start with 8");
  refused({{"convstem_dims", {3}}}, "convstem_dims: got 1 widths");
  refused({{"convstem_dims", nullptr}}, "convstem_dims");
  json no_stem = tiny_pervit();
  no_stem.erase("convstem_dims");
  check_error([&] { static_cast<void>(make_model_from_config(no_stem)); },
              "key convstem_dims is missing");
  refused({{"convstem_dims", {3, 0, 8}}}, "convstem_dims: got 0");
  refused({{"in_chans", 1}}, "convstem_dims start with 3, but in_chans is 1");
  refused({{"emb_dims", {8, 12, 16}}}, "3 emb_dims and 2 depths");
  refused({{"emb_dims", {8, 13}}}, "13 is not divisible by num_heads 2");
  refused({{"depths", {1, 0}}}, "depths: got 0");
  refused({{"phi_p", false}, {"phi_c", false}}, "phi_p and phi_c are both false");
  refused({{"phi_p", 1}}, "phi_p: got 1");
  refused({{"ppe_kernel", 2}}, "ppe_kernel: got 2, expected an odd number");
  refused({{"ppe_layers", 3}}, "ppe_layers: got 3");
  refused({{"ppe_embed", "sin"}}, "one of euc lrn");
  refused({{"pos_embed", "sincos"}}, "pos_embed: got sincos, expected none or learned");
  refused({{"ppe_inti", "rand"}}, "ppe_init");
  check_error(
      [] {
        const auto model = make_model_from_config(tiny_pervit());
        static_cast<void>(logits_of(*model, random_images(1, 8, DType::f32)));
      },
      "PerViT: got images [1, 3, 8, 8], expected [B, 3, 12, 12]");
}
