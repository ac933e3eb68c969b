// The masked autoencoder: what is hidden and put back, what the encoder sees, its sizes.
#include "models/mae.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "models/checkpoints/pretrained.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "models/shapes_only.h"
#include "ops/ops.h"
#include "tests/models/in_f64.h"

using namespace fovea;
using nlohmann::json;
using tests::in_f64;

namespace {

const json kTinyMae = {{"family", "mae"},        {"img_size", {8, 12}}, {"patch_size", 2},
                       {"embed_dim", 8},         {"depth", 2},          {"num_heads", 2},
                       {"decoder_embed_dim", 8}, {"decoder_depth", 1},  {"decoder_num_heads", 2}};
constexpr std::int64_t kPatches = 24;

std::unique_ptr<Mae> tiny_mae(json changes = json::object()) {
  json config = kTinyMae;
  config.update(changes);
  return model_as<Mae>(make_model_from_config(config, 3, kF64));
}

Tensor mae_images(std::uint64_t stream) { return tests::drawn({2, 3, 8, 12}, stream); }
Masking masking(std::int64_t kept) {
  return {rand_uniform({2, kPatches}, {0, 1}, {5}, kF64), kept};
}

/// `changed` where a patch is hidden, else `x`.
Tensor with_other_holes(const Tensor& x, const Tensor& changed, const Masking& mask) {
  const Tensor hidden = ops::reshape(mask.hidden.to(DType::f64), {2, 1, 4, 1, 6, 1});
  const Tensor share = ops::reshape(ops::expand(hidden, {2, 3, 4, 2, 6, 2}), {2, 3, 8, 12});
  return x + share * (changed - x);
}

}  // namespace

TEST_CASE("MAE's sizes have the official parameters") {
  const std::vector<std::tuple<const char*, std::int64_t, std::int64_t>> sizes = {
      {"mae_vit_base_patch16", 111'655'680, 111'907'840},
      {"mae_vit_large_patch16", 329'239'296, 329'541'888},
      {"mae_vit_huge_patch14", 656'613'964, 657'074'508},
      {"mae_pit_tiny_32", 30'660'675, 31'382'275},
      {"mae_pit_tiny_patch2_32", 30'667'020, 30'847'948},
      {"mae_pit_small_32", 46'715'523, 47'633'923}};
  for (const auto& size : sizes) {
    const auto& [name, trained, all] = size;
    INFO("model: ", std::string(std::get<0>(size)));
    const ShapesOnly shapes(name, std::int64_t{1} << 40);
    const auto model = make_model(name, {});
    CHECK(model->store().parameter_count() == trained);
    std::int64_t count = 0;
    for (const Parameter& p : model->store().parameters()) count += p.tensor.numel();
    CHECK(count == all);
  }
}

TEST_CASE("the classifiers that start from an encoder have the official parameters") {
  const std::vector<std::pair<const char*, std::int64_t>> sizes = {
      {"vit_base_patch16_224", 86'567'656},
      {"vit_large_patch16_224", 304'326'632},
      {"vit_huge_patch14_224", 632'045'800}};
  for (const auto& size : sizes) {
    INFO("model: ", std::string(size.first));
    const ShapesOnly shapes(size.first, std::int64_t{1} << 40);
    const auto model = make_model(size.first, {{"class_token", true}, {"global_pool", "avg"}});
    CHECK(model->store().parameter_count() == size.second);
    CHECK(model->store().find("fc_norm.weight").defined());
    CHECK_FALSE(model->store().find("norm.weight").defined());
  }
}

TEST_CASE(
    "the Pixel Transformer's partner has 2x2 patches, and the encoder sees a quarter of them") {
  const auto model = make_model("mae_pit_tiny_patch2_32", {{"depth", 1}, {"decoder_depth", 1}}, 1);
  const auto& mae = model_as<Mae>(*model);
  CHECK(mae.config().image.patches() == 256);
  CHECK(mae.config().encoder.num_heads == 12);
  const Masking m(rand_uniform({1, 256}, {0, 1}, {5}), mae.config().kept());
  Context ctx;
  const NoGrad no_grad;
  const Reconstruction made = mae.reconstruct(rand_normal({1, 3, 32, 32}, {0, 1}, {1}), m, ctx);
  CHECK(made.latent.shape() == Shape{1, 65, 192});
  CHECK(made.pixels.shape() == Shape{1, 256, 12});
}

TEST_CASE("every patch is visible or hidden, and restore undoes the shuffle") {
  const Masking m = masking(6);
  CHECK(m.visible.shape() == Shape{2, 6});
  CHECK(ops::sum(m.hidden, {1}).to_vector() == std::vector<double>{18, 18});
  const std::vector<double> visible = m.visible.to_vector(), restore = m.restore.to_vector(),
                            hidden = m.hidden.to_vector();
  for (std::size_t image = 0; image < 2; ++image) {
    for (std::size_t k = 0; k < 6; ++k) {
      const auto place = static_cast<std::size_t>(visible[6 * image + k]);
      CHECK(restore[kPatches * image + place] == static_cast<double>(k));
      CHECK(hidden[kPatches * image + place] == 0);
    }
    std::vector<double> places(
        restore.begin() + static_cast<std::ptrdiff_t>(kPatches * image),
        restore.begin() + static_cast<std::ptrdiff_t>(kPatches * (image + 1)));
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < places.size(); ++i) CHECK(places[i] == static_cast<double>(i));
  }
}

TEST_CASE("equal noise keeps the order of the patches") {
  const Masking m(zeros({1, 5}), 2);
  CHECK(m.visible.to_vector() == std::vector<double>{0, 1});
  CHECK(m.restore.to_vector() == std::vector<double>{0, 1, 2, 3, 4});
}

TEST_CASE("the encoder sees nothing of what is hidden, and the loss nothing of what is not") {
  const auto model = tiny_mae();
  const Mae& mae = *model;
  const Masking m = masking(mae.config().kept());
  const Tensor x = mae_images(1), other = with_other_holes(x, mae_images(2), m);
  Context ctx = in_f64();
  const Reconstruction first = mae.reconstruct(x, m, ctx), second = mae.reconstruct(other, m, ctx);
  CHECK(first.latent.to_vector() == second.latent.to_vector());
  CHECK(first.pixels.to_vector() == second.pixels.to_vector());
  CHECK(mae.loss(x, m, first.pixels).item() != mae.loss(other, m, first.pixels).item());

  const Tensor seen = with_other_holes(mae_images(2), x, m);  // x where hidden, else another image
  CHECK(mae.loss(seen, m, first.pixels).item() ==
        doctest::Approx(mae.loss(x, m, first.pixels).item()).epsilon(1e-12));
  CHECK(mae.reconstruct(seen, m, ctx).latent.to_vector() != first.latent.to_vector());
}

TEST_CASE(
    "with nothing hidden the encoder is the ViT of its weights, its tokens in another order") {
  for (const char* const positions : {"sincos", "learned"}) {
    INFO("positions: ", std::string(positions));
    const auto model = tiny_mae({{"pos_embed", positions}});
    const auto vit = make_model_from_config({{"family", "vit"},
                                             {"img_size", {8, 12}},
                                             {"patch_size", 2},
                                             {"embed_dim", 8},
                                             {"depth", 2},
                                             {"num_heads", 2},
                                             {"num_classes", 3},
                                             {"global_pool", "avg"},  // all tokens are computed
                                             {"fc_norm", false}},
                                            4, kF64);
    load_state(*vit, state_of(*model), {}, {.finetune = true});
    Context ctx = in_f64(), plain = in_f64();
    Tensor last;
    ctx.tap = [&](std::string_view name, const Tensor& value) {
      if (name == "feat/1") last = value;
    };
    static_cast<void>(vit->probe(mae_images(1), ctx));
    const ParameterStore& store = model->store();
    const Tensor tokens =
        ops::layer_norm(last, store.find("norm.weight"), store.find("norm.bias"), {1e-6});

    const Masking all = masking(kPatches);
    CHECK(ops::sum(all.hidden).item() == 0);
    const Tensor latent = model->reconstruct(mae_images(1), all, plain).latent;
    REQUIRE(latent.shape() == tokens.shape());
    for (std::int64_t row = 0; row < 2 * (1 + kPatches); ++row) {
      const std::int64_t image = row / (1 + kPatches), token = row % (1 + kPatches);
      const auto place = [&] {  // among the ViT's, which the class token heads
        return 1 + static_cast<std::int64_t>(all.visible.at(image * kPatches + token - 1));
      };
      const std::int64_t from = image * (1 + kPatches) + (token == 0 ? 0 : place());
      for (std::int64_t d = 0; d < 8; ++d) {
        CHECK(latent.at(row * 8 + d) == doctest::Approx(tokens.at(from * 8 + d)).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("the encoder works on visible tokens only, whose order does not matter") {
  const auto model = tiny_mae();
  const Mae& mae = *model;
  Context ctx = in_f64();
  const Tensor x = mae_images(1);
  const Tensor noise = rand_uniform({2, kPatches}, {0, 1}, {5}, kF64);
  const Masking m(noise, 6);
  const Reconstruction first = mae.reconstruct(x, m, ctx);
  CHECK(first.latent.shape() == Shape{2, 7, 8});
  // The same six patches with their noise upside down: another order of the tokens.
  const Masking turned(noise * (m.hidden.to(DType::f64) * 2 - 1.0), 6);
  CHECK(turned.hidden.to_vector() == m.hidden.to_vector());
  CHECK(turned.visible.to_vector() != m.visible.to_vector());
  const std::vector<double> a = first.pixels.to_vector();
  const std::vector<double> b = mae.reconstruct(x, turned, ctx).pixels.to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(b[i] == doctest::Approx(a[i]).epsilon(1e-10));
}

TEST_CASE("blocks that are computed again give the same bits, and the decoder's are named") {
  const auto model = tiny_mae();
  const Mae& mae = *model;
  const Masking m = masking(mae.config().kept());
  std::vector<double> gradients[2];
  std::vector<std::string> shown;
  for (const bool again : {false, true}) {
    model->store().zero_grad();
    Context ctx = in_f64();
    ctx.training = true;
    ctx.recompute_blocks = again;
    if (!again) ctx.tap = [&](std::string_view name, const Tensor&) { shown.emplace_back(name); };
    backward(mae.loss(mae_images(1), m, mae.reconstruct(mae_images(1), m, ctx).pixels));
    gradients[again] = model->store().find("blocks.0.attn.qkv.weight").grad().to_vector();
  }
  CHECK(gradients[0] == gradients[1]);
  for (const char* const name : {"feat/embed", "feat/0", "feat/1", "decoder/feat/0"}) {
    CHECK(std::count(shown.begin(), shown.end(), name) == 1);
  }
}

TEST_CASE("a patch's values are in the order row, column, channel") {
  Tensor image = zeros({1, 2, 4, 4});
  for (std::int64_t i = 0; i < 32; ++i) image.data<float>()[i] = static_cast<float>(i);
  const std::vector<double> values = patch_pixels(image, 2).to_vector();
  // Of the second patch: columns 2 and 3 of rows 0 and 1; the second channel begins at 16.
  CHECK(std::vector<double>(values.begin() + 8, values.begin() + 16) ==
        std::vector<double>{2, 18, 3, 19, 6, 22, 7, 23});
}

TEST_CASE("a perfect prediction has no loss, with and without normalised targets") {
  for (const bool normalised : {false, true}) {
    const auto model = tiny_mae({{"norm_pix_loss", normalised}});
    const Mae& mae = *model;
    const Masking m = masking(mae.config().kept());
    const Tensor x = mae_images(1);
    Tensor target = patch_pixels(x, 2);
    if (normalised) {
      target = (target - ops::mean(target, {2}, true)) /
               ops::sqrt(ops::var(target, {2}, 1, true) + 1e-6);
    }
    CHECK(mae.loss(x, m, target).item() <= 1e-20);
    CHECK(mae.loss(x, m, target + 1.0).item() == doctest::Approx(1));
  }
}

TEST_CASE("a mask that hides nothing or everything is refused, with the ratios that would do") {
  CHECK_THROWS_WITH_AS(tiny_mae({{"mask_ratio", 0.0}}),
                       "mae config: mask_ratio 0 hides 0 of 24 patches; above 0 and up to 0.9583 "
                       "it hides some patches and keeps some",
                       Error);
  CHECK_THROWS_AS(tiny_mae({{"mask_ratio", 0.99}}), Error);
  CHECK_NOTHROW(tiny_mae({{"mask_ratio", 0.95}}));
  for (const std::int64_t side : {2, 4, 5, 7, 12, 14, 16, 50}) {  // the ratio that the error names
    const json square{{"img_size", side}, {"patch_size", 1}};
    CAPTURE(side);
    try {
      json all = square;
      all["mask_ratio"] = 1.0;
      static_cast<void>(tiny_mae(all));
      FAIL("a mask of everything passed");
    } catch (const Error& error) {
      const std::string text = error.what();
      json most = square;
      most["mask_ratio"] = std::stod(text.substr(text.find("up to ") + 6));
      CHECK_NOTHROW(tiny_mae(most));
    }
  }
  CHECK_THROWS_AS(tiny_mae({{"img_size", {2, 2}}}), Error);
  CHECK_THROWS_AS(tiny_mae({{"pos_embed", "none"}}), Error);
  CHECK_THROWS_AS(tiny_mae({{"decoder_depth", 0}}), Error);  // hidden patches would see no encoder
  CHECK_THROWS_AS(tiny_mae({{"decoder_embed_dim", 9}, {"decoder_num_heads", 3}}), Error);  // sincos
}

TEST_CASE("what stays is rounded down, in f64, as the official code does") {
  const auto kept = [](const json& size, double ratio) {
    const auto model = tiny_mae({{"img_size", size}, {"mask_ratio", ratio}});
    return model->config().kept();
  };
  CHECK(kept({10, 10}, 0.6) == 10);  // of 25
  CHECK(kept({8, 12}, 0.6) == 9);    // 9.6 of 24
  CHECK(kept({10, 20}, 0.9) == 4);   // of 50; 1 - 0.9 is a little less than 0.1
}

TEST_CASE("MAE begins with Xavier's weights and normal tokens, and decays the tokens") {
  const auto model = make_model("mae_pit_tiny_32", {{"depth", 1}, {"decoder_depth", 1}}, 1);
  const auto largest = [&](const char* name) {
    double most = 0;
    for (const double v : model->store().find(name).to_vector()) most = std::max(most, std::abs(v));
    return most;
  };
  const double qkv = std::sqrt(6.0 / (192 + 3 * 192)), embed = std::sqrt(6.0 / (3 + 192));
  CHECK(largest("blocks.0.attn.qkv.weight") <= qkv);
  CHECK(largest("blocks.0.attn.qkv.weight") > 0.99 * qkv);
  CHECK(largest("patch_embed.proj.weight") <= embed);
  CHECK(largest("patch_embed.proj.weight") > 0.9 * embed);
  CHECK(largest("decoder_pred.bias") == 0);
  CHECK(largest("mask_token") > 0.02);
  for (const Parameter& p : model->store().parameters()) {
    if (p.name == "cls_token" || p.name == "mask_token") CHECK(p.decay == Decay::yes);
    if (p.name == "pos_embed") CHECK_FALSE(p.tensor.requires_grad());
    if (p.name.starts_with("blocks.0.")) CHECK(p.block == 0);
    if (p.name.starts_with("decoder_")) CHECK(p.block == -1);
  }
}
