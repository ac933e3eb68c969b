// The diffusion transformer: its start at zero, conditions, labels, patches and files.
#include "models/dit.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/checkpoints/pretrained.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "models/summary.h"
#include "ops/ops.h"
#include "tests/models/in_f64.h"
#include "tests/support/shapes.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using nlohmann::json;
using tests::in_f64;

namespace {

const json kTinyDit = {{"family", "dit"}, {"img_size", {6, 4}}, {"patch_size", 2},
                       {"in_chans", 4},   {"embed_dim", 8},     {"depth", 2},
                       {"num_heads", 2},  {"num_classes", 5}};

std::unique_ptr<Dit> tiny_dit(const json& changes = json::object()) {
  json config = kTinyDit;
  config.update(changes);
  return model_as<Dit>(make_model_from_config(config, 3, kF64));
}

/// The same with other values than 0 in all layers.
std::unique_ptr<Dit> started_dit(const json& changes = json::object()) {
  auto dit = tiny_dit(changes);
  const NoGrad no_grad;
  for (const Parameter& p : dit->store().parameters()) {
    if (p.is_fixed) continue;
    p.tensor.copy_(p.tensor.detach() + rand_normal(p.tensor.shape(), {0, 0.2}, {9}, kF64));
  }
  return dit;
}

Tensor dit_images(std::int64_t count = 3) {
  return rand_normal({count, 4, 6, 4}, {0, 1}, {1}, kF64);
}
Tensor times(std::initializer_list<double> values) {
  return from_values({std::ssize(values)}, values, kF64);
}
Tensor labels(std::initializer_list<double> values) {
  return from_values({std::ssize(values)}, values, {DType::i64, {}});
}

std::vector<double> prediction(const Dit& dit, const Tensor& t, const Tensor& y) {
  const NoGrad no_grad;
  Context ctx = in_f64();
  return dit.denoise(dit_images(t.size(0)), t, y, ctx).to_vector();
}

double size_of_gradient(const Dit& dit, const std::string& name) {
  const Tensor grad = dit.store().find(name).grad();
  return grad.defined() ? ops::sum(ops::abs(grad)).item() : 0;
}

}  // namespace

TEST_CASE("the predictions of a new DiT are exactly 0, in every precision") {
  for (const char* name : {"dit_s_8", "dit_s_4_32"}) {
    const auto dit = model_as<Dit>(make_model(name, {{"depth", 2}, {"embed_dim", 48}}, 1));
    const PatchConfig& image = dit->config().image;
    const Tensor x = rand_normal({2, image.in_chans, 32, 32}, {0, 1}, {1});
    for (const DType activations : {DType::f32, DType::bf16}) {
      Context ctx;
      ctx.activations = activations;
      const Tensor out = dit->denoise(x, from_values({2}, {0, 999}), labels({3, 1000}), ctx);
      CHECK(out.shape() == Shape{2, 2 * image.in_chans, 32, 32});
      for (const double value : out.to_vector()) CHECK(value == 0);
    }
  }
}

TEST_CASE("in the first step only the last linear layer of a DiT has a gradient") {
  const auto dit = tiny_dit();
  Context ctx = in_f64();
  ctx.training = true;
  const Tensor out = dit->denoise(dit_images(), times({1, 500, 999}), labels({0, 1, 5}), ctx);
  backward(ops::mse(out, rand_normal(out.shape(), {0, 1}, {4}, kF64)));
  for (const Parameter& p : dit->store().parameters()) {
    INFO(p.name);
    const bool is_last = p.name.starts_with("final_layer.linear.");
    CHECK((size_of_gradient(*dit, p.name) > 0) == is_last);
  }
}

TEST_CASE("a DiT has the official names and initial values") {
  const auto dit = tiny_dit({{"embed_dim", 96}});
  for (const char* name :
       {"pos_embed", "x_embedder.proj.weight", "x_embedder.proj.bias", "t_embedder.mlp.0.weight",
        "t_embedder.mlp.2.bias", "y_embedder.embedding_table.weight", "blocks.1.attn.qkv.bias",
        "blocks.1.attn.proj.weight", "blocks.0.mlp.fc1.weight", "blocks.0.mlp.fc2.bias",
        "blocks.1.adaLN_modulation.1.weight", "final_layer.adaLN_modulation.1.bias",
        "final_layer.linear.weight"}) {
    INFO(name);
    CHECK(dit->store().find(name).defined());
  }
  CHECK(dit->store().parameters().size() == 1 + 2 + 4 + 1 + 2 * 10 + 4);
  const auto largest = [&](const char* name) {
    double most = 0;
    for (const double v : dit->store().find(name).to_vector()) most = std::max(most, std::abs(v));
    return most;
  };
  const auto deviation = [&](const char* name) {
    const Tensor p = dit->store().find(name);
    return std::sqrt(ops::mean(p.detach() * p.detach()).item());
  };
  const double qkv = std::sqrt(6.0 / (96 + 3 * 96)), patch = std::sqrt(6.0 / (96 + 16));
  CHECK(largest("blocks.0.attn.qkv.weight") == doctest::Approx(qkv).epsilon(1e-2));
  CHECK(largest("x_embedder.proj.weight") == doctest::Approx(patch).epsilon(1e-2));
  CHECK(largest("blocks.0.attn.qkv.bias") == 0);
  CHECK(largest("x_embedder.proj.bias") == 0);
  CHECK(largest("t_embedder.mlp.0.bias") == 0);
  for (const char* name : {"t_embedder.mlp.0.weight", "t_embedder.mlp.2.weight",
                           "y_embedder.embedding_table.weight"}) {
    INFO(name);
    CHECK(deviation(name) == doctest::Approx(0.02).epsilon(0.1));
  }
}

TEST_CASE("sizes, channels and positions follow the settings") {
  const auto rows = [](const json& changes) {
    return tiny_dit(changes)->store().find("y_embedder.embedding_table.weight").size(0);
  };
  CHECK(rows({{"class_dropout_prob", 0.1}}) == 6);
  CHECK(rows({{"class_dropout_prob", 0}}) == 5);
  CHECK(tiny_dit()->config().out_chans() == 8);
  CHECK(tiny_dit({{"learn_sigma", false}})->config().out_chans() == 4);
  CHECK_FALSE(tiny_dit()->store().find("pos_embed").requires_grad());
  const auto learned = tiny_dit({{"pos_embed", "learned"}});
  CHECK(learned->store().find("pos_embed").requires_grad());
  CHECK(learned->store().find("pos_embed").shape() == Shape{1, 6, 8});
  CHECK(tests::model_of_shapes("dit_l_1", {{"pos_embed", "learned"}})->store().parameter_count() ==
        457803784 + 1024 * 1024);
}

TEST_CASE("settings that do not fit a DiT are errors") {
  const auto refused = [](const json& changes) {
    return message_of([&] { (void)tiny_dit(changes); });
  };
  CHECK(refused({{"pos_embed", "rpe2d"}}) ==
        "dit config: pos_embed: got rpe2d, expected sincos or learned");
  CHECK(refused({{"drop_path", 0.1}}).find("drop_path") != std::string::npos);
  CHECK(refused({{"class_dropout_prob", 1.5}}).find("class_dropout_prob: got 1.5") !=
        std::string::npos);
  CHECK(refused({{"num_classes", 0}}).find("num_classes: got 0") != std::string::npos);
  CHECK(refused({{"patch_size", 4}}) ==
        "dit config: img_size 6x4 is not divisible by patch_size 4");
}

TEST_CASE("times may be fractional, and integers mean the same as reals") {
  const auto dit = started_dit();
  const Tensor y = labels({0, 0, 0});
  const std::vector<double> real = prediction(*dit, times({3, 0, 999}), y);
  CHECK(prediction(*dit, labels({3, 0, 999}), y) == real);
  CHECK(prediction(*dit, times({3.25, 0, 999}), y) != real);
}

TEST_CASE("the waves of a time are its cosines, then its sines") {
  const auto dit = tiny_dit();
  // The first layer shows one wave in each channel.
  const auto channel = [&](std::int64_t wave, double t) {
    ParameterStore store(1, kF64);
    const TimestepEmbedding embed(Scope(store), 4);
    const NoGrad no_grad;
    const Tensor fc1 = store.find("mlp.0.weight"), fc2 = store.find("mlp.2.weight");
    fc1.fill_(0);
    fc1.data<double>()[wave] = 1;
    fc2.fill_(0);
    fc2.data<double>()[0] = 1;
    const Context ctx = in_f64();
    return embed(times({t}), ctx).at(0);
  };
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  CHECK(channel(0, 2.5) == doctest::Approx(silu(std::cos(2.5))));
  CHECK(channel(128, 2.5) == doctest::Approx(silu(std::sin(2.5))));
  const double lowest = std::pow(10000, -127.0 / 128);
  CHECK(channel(127, 700) == doctest::Approx(silu(std::cos(700 * lowest))));
  CHECK(channel(255, 700) == doctest::Approx(silu(std::sin(700 * lowest))));
}

TEST_CASE("a prediction depends on its own image, time and class") {
  const auto dit = started_dit();
  const std::vector<double> all = prediction(*dit, times({3, 500, 3}), labels({0, 2, 4}));
  const NoGrad no_grad;
  Context ctx = in_f64();
  const Tensor x = ops::slice(dit_images(3), 0, 1, 2);
  const std::vector<double> one = dit->denoise(x, times({500}), labels({2}), ctx).to_vector();
  for (std::size_t i = 0; i < one.size(); ++i)
    CHECK(one[i] == doctest::Approx(all[one.size() + i]));
  CHECK(prediction(*dit, times({3, 500, 3}), labels({0, 3, 4})) != all);
}

TEST_CASE("labels are dropped where the noise is below the rate, to the row after the classes") {
  const auto dit = tiny_dit({{"class_dropout_prob", 0.25}});
  CHECK(dit->null_label() == 5);
  const Tensor y = labels({0, 1, 4, 3});
  CHECK(dit->drop_labels(y, times({0.24, 0.25, 0, 0.9})).to_vector() ==
        std::vector<double>{5, 1, 5, 3});
  const auto always = tiny_dit({{"class_dropout_prob", 0}});
  CHECK(always->drop_labels(y, times({0, 0, 0, 0})).to_vector() == y.to_vector());
  CHECK(message_of([&] { (void)always->null_label(); }) ==
        "dit has no null class, because class_dropout_prob is 0; guidance needs one");
}

TEST_CASE("only rows of classes in the batch get a gradient, the null row if a label was dropped") {
  for (const bool dropped : {false, true}) {
    const auto dit = started_dit();
    Context ctx = in_f64();
    ctx.training = true;
    const Tensor y = dit->drop_labels(labels({1, 1, 3}), times({1, dropped ? 0.0 : 1.0, 1}));
    const Tensor out = dit->denoise(dit_images(), times({1, 500, 999}), y, ctx);
    backward(ops::mean(out * out));
    const Tensor grad = dit->store().find("y_embedder.embedding_table.weight").grad();
    for (std::int64_t row = 0; row < 6; ++row) {
      CAPTURE(row);
      const bool expected = row == 1 || row == 3 || (row == 5 && dropped);
      CHECK((ops::sum(ops::abs(ops::select(grad, 0, row))).item() > 0) == expected);
    }
  }
}

TEST_CASE("values of a token are ordered by row, column and channel") {
  const auto dit = tiny_dit({{"learn_sigma", false}, {"in_chans", 2}});
  const Tensor bias = dit->store().find("final_layer.linear.bias");  // [p p C]
  for (std::int64_t i = 0; i < 8; ++i) bias.data<double>()[i] = static_cast<double>(i);
  Context ctx = in_f64();
  const Tensor x = zeros({1, 2, 6, 4}, kF64);
  const Tensor out = dit->denoise(x, times({1}), labels({1}), ctx);
  for (std::int64_t c = 0; c < 2; ++c) {
    for (std::int64_t row = 0; row < 6; ++row) {
      for (std::int64_t column = 0; column < 4; ++column) {
        const std::int64_t value = (row % 2) * 4 + (column % 2) * 2 + c;
        CHECK(out.at((c * 6 + row) * 4 + column) == static_cast<double>(value));
      }
    }
  }
}

TEST_CASE("wrong inputs of a DiT are named") {
  const auto dit = tiny_dit();
  Context ctx = in_f64();
  const auto refused = [&](const Tensor& x, const Tensor& t, const Tensor& y) {
    return message_of([&] { (void)dit->denoise(x, t, y, ctx); });
  };
  CHECK(refused(dit_images(), times({1, 2}), labels({0, 1, 2})) ==
        "Dit: got times [2], expected [3]");
  CHECK(refused(dit_images(), times({1, 2, 3}), times({0, 1, 2})) ==
        "Dit: got classes f64 [3], expected i64 [3]");
  CHECK_FALSE(refused(dit_images(), times({1, 2, 3}), labels({0, 1, 6})).empty());
  CHECK(refused(zeros({1, 3, 6, 4}, kF64), times({1}), labels({0})).find("expected [B, 4, 6, 4]") !=
        std::string::npos);
}

TEST_CASE("a file of a DiT loads, and another table of positions is refused") {
  const TemporaryFolder folder;
  const auto from = started_dit();
  TensorMap tensors = state_of(*from);
  const auto loaded = [&](const TensorMap& file) {
    write_safetensors(folder / "dit.safetensors", file);
    const auto dit = tiny_dit();
    (void)load_weights(*dit, folder / "dit.safetensors");
    return prediction(*dit, times({3, 0, 999}), labels({0, 5, 2}));
  };
  const std::vector<double> expected = prediction(*from, times({3, 0, 999}), labels({0, 5, 2}));
  CHECK(loaded(tensors) == expected);
  tensors["pos_embed"] = tensors["pos_embed"].clone();
  tensors["pos_embed"].data<double>()[3] += 0.1;
  CHECK(message_of([&] {
          (void)loaded(tensors);
        }).find("pos_embed differs by up to 0.1 from the sin-cos table") != std::string::npos);
}

TEST_CASE("a saved DiT is made again from its file") {
  const TemporaryFolder folder;
  const auto from = started_dit({{"pos_embed", "learned"}, {"class_dropout_prob", 0.5}});
  save_model(folder / "dit.safetensors", *from);
  const auto again = load_model(folder / "dit.safetensors", kF64);
  CHECK(again->info().config == from->info().config);
  CHECK(prediction(model_as<Dit>(*again), times({3}), labels({5})) ==
        prediction(*from, times({3}), labels({5})));
}

TEST_CASE("the summary of a DiT counts its parts") {
  const auto dit = make_model("dit_s_2", {{"depth", 2}});
  const SummaryNode root = summarize(*dit);
  CHECK(root.parameters == dit->store().parameter_count());
  CHECK(root.fixed == 256 * 384);
  CHECK(root.attention == 2 * 2 * 256 * 256 * 384);  // blocks, products
  std::ostringstream text;
  print_summary(text, *dit);
  CHECK(text.str().find("adaLN_modulation") != std::string::npos);
  CHECK(dit->tokens().grid == TokenGrid{{16, 16}, 0});
}

TEST_CASE("waves of late times keep their digits in every precision") {
  ParameterStore store(1, {});
  const TimestepEmbedding embed(Scope(store), 8);
  ParameterStore wide(1, kF64);
  const TimestepEmbedding exact(Scope(wide), 8);
  Context ctx, in_bf16, f64 = in_f64();
  in_bf16.activations = DType::bf16;
  const Tensor t = times({999.5});
  const NoGrad no_grad;
  for (const Parameter& p : store.parameters()) wide.find(p.name).copy_(p.tensor);
  const std::vector<double> expected = exact(t, f64).to_vector();
  const std::vector<double> f32 = embed(t, ctx).to_vector(), bf16 = embed(t, in_bf16).to_vector();
  double scale = 0;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(std::abs(f32[i] - expected[i]) < 1e-6 * scale);
    CHECK(std::abs(bf16[i] - expected[i]) < 3e-2 * scale);
  }
}
