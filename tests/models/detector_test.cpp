// DETR and Deformable DETR: their sizes and names, what padding and positions do, backbones, and
// settings.
#include "models/detector.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/random.h"
#include "models/deformable_detr.h"
#include "models/detection/set_loss.h"
#include "models/detr.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "models/shapes_only.h"
#include "ops/ops.h"
#include "tests/models/in_f64.h"
#include "tests/models/outputs.h"
#include "tests/models/tiny_detector.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using namespace fovea::tests;
using nlohmann::json;

namespace {

/// [2, height, width]: the first image fills it, the second its upper left part.
Tensor mask_of(std::int64_t height, std::int64_t width, std::int64_t rows, std::int64_t columns) {
  const Tensor mask = zeros({2, height, width}, kF64);
  for (std::int64_t i = 0; i < mask.numel(); ++i) {
    const std::int64_t x = i % width, y = i / width % height;
    mask.data<double>()[i] = i < height * width || (y < rows && x < columns) ? 1 : 0;
  }
  return mask;
}

/// Exchanges the values at masked cells: x [2, C, h, w], mask [2, h, w].
Tensor with_other_padding(const Tensor& x, const Tensor& mask) {
  const Tensor kept = ops::unsqueeze(mask, 1);
  return x * kept + drawn(x.shape(), 77) * 3.0 * (-kept + 1);
}

/// The order of N tokens, backwards.
Tensor backwards(std::int64_t n) {
  std::vector<double> order;
  for (std::int64_t i = n - 1; i >= 0; --i) order.push_back(static_cast<double>(i));
  return from_values({n}, order, {DType::i64, {}});
}

struct Counts {
  std::int64_t all = 0, trained = 0, peg = 0;
};

Counts counts_of(const char* name, const json& overrides = json::object()) {
  const ShapesOnly shapes(name, std::int64_t{1} << 34);
  const auto model = make_model(name, overrides);
  Counts counts{.trained = model->store().parameter_count()};
  for (const Parameter& p : model->store().parameters()) {
    counts.all += p.tensor.numel();
    if (p.name.starts_with("transformer.encoder.peg.")) counts.peg += p.tensor.numel();
  }
  return counts;
}

std::string detector_error(const char* family, const json& changes) {
  return message_of([&] { static_cast<void>(tiny_detector(family, changes)); });
}

}  // namespace

TEST_CASE("DETR and Deformable DETR have the published numbers of parameters") {
  const Counts detr = counts_of("detr_resnet50");
  CHECK(detr.all == 41'524'768);
  CHECK(detr.trained == 41'302'368);
  const Counts deformable = counts_of("deformable_detr_resnet50");
  CHECK(deformable.all == 34'066'593);
  CHECK(deformable.trained == 33'844'193);
  CHECK(counts_of("detr_resnet50_dc5").all == detr.all);
  CHECK(counts_of("deformable_detr_resnet50_dc5").all == deformable.all);
}

TEST_CASE("a PEG adds 9 D filter taps and 2 D parameters of its norm") {
  for (const char* name : {"detr_resnet50", "deformable_detr_resnet50"}) {
    const Counts sine = counts_of(name), peg = counts_of(name, {{"encoder_pos", "peg"}});
    CHECK(peg.peg == 11 * 256);
    CHECK(peg.all == sine.all + peg.peg);
    CHECK(counts_of(name, {{"encoder_pos", "none"}}).all == sine.all);
    const json three{{"encoder_pos", "peg"}, {"peg_positions", {-1, 0, 3}}};
    CHECK(counts_of(name, three).peg == 3 * 11 * 256);
  }
}

TEST_CASE("detectors have their official names, and frozen norms are buffers") {
  const auto detr = tiny_detector("detr", {{"encoder_pos", "peg"}, {"pre_norm", true}});
  for (const char* name :
       {"backbone.0.body.conv1.weight", "backbone.0.body.layer1.0.downsample.0.weight",
        "input_proj.weight", "query_embed.weight", "class_embed.bias", "bbox_embed.layers.2.bias",
        "transformer.encoder.layers.1.self_attn.in_proj_weight", "transformer.encoder.norm.weight",
        "transformer.encoder.peg.proj.0.weight", "transformer.decoder.norm.weight",
        "transformer.decoder.layers.0.multihead_attn.out_proj.bias"}) {
    CAPTURE(name);
    CHECK(detr->store().find(name).defined());
  }
  const auto deformable = tiny_detector("ddetr");
  for (const char* name :
       {"input_proj.0.1.weight", "transformer.level_embed", "transformer.reference_points.bias",
        "transformer.encoder.layers.0.self_attn.sampling_offsets.weight",
        "transformer.decoder.layers.1.cross_attn.value_proj.weight", "class_embed.0.weight",
        "bbox_embed.0.layers.2.weight"}) {
    CAPTURE(name);
    CHECK(deformable->store().find(name).defined());
  }
  CHECK_FALSE(detr->store().find("backbone.0.body.bn1.weight").requires_grad());
  CHECK_FALSE(detr->store().find("backbone.0.body.layer1.0.conv2.weight").requires_grad());
  CHECK(detr->store().find("backbone.0.body.layer2.0.conv2.weight").requires_grad());
  const auto own = tiny_detector("detr", {{"backbone_norm", "batch"}, {"train_stem", true}});
  CHECK(own->store().find("backbone.0.body.bn1.weight").requires_grad());
  CHECK(own->store().find("backbone.0.body.conv1.weight").requires_grad());
}

TEST_CASE("the map has a cell per 32 pixels, or per 16 with a dilated last stage") {
  const ShapesOnly shapes("detectors", std::int64_t{1} << 34);
  const auto plain = model_as<Detector>(make_model("detr_resnet50", {}));
  CHECK(plain->map_size({480, 640}) == std::array<std::int64_t, 2>{15, 20});
  CHECK(plain->map_size({800, 1333}) == std::array<std::int64_t, 2>{25, 42});
  const auto dilated = model_as<Detector>(make_model("detr_resnet50_dc5", {}));
  CHECK(dilated->map_size({480, 640}) == std::array<std::int64_t, 2>{30, 40});
  CHECK(dilated->num_queries() == 100);
  CHECK(model_as<Detector>(make_model("deformable_detr_resnet50", {}))->num_queries() == 300);
}

TEST_CASE("map_size is the size of the map") {
  for (const bool dilation : {false, true}) {
    const auto model = tiny_detector("detr", {{"dilation", dilation}});
    Context ctx = in_f64();
    Shape map;
    ctx.tap = [&](std::string_view name, const Tensor& x) {
      if (name == "feat/backbone") map = x.shape();
    };
    static_cast<void>(model->forward(drawn({1, 3, 37, 50}, 1), {}, ctx));
    const auto [h, w] = model->map_size({37, 50});
    CHECK(map == Shape{1, 8, h, w});
  }
}

TEST_CASE("other values at masked cells of the map change no object") {
  const Tensor mask = mask_of(4, 6, 3, 4), map = drawn({2, 8, 4, 6}, 2);
  const auto differs = [&](const char* family, const json& changes) {
    const auto model = tiny_detector(family, changes);
    const NoGrad no_grad;
    Context ctx = in_f64();
    const DetectorOutput a = model->detect({map, mask}, ctx);
    const DetectorOutput b = model->detect({with_other_padding(map, mask), mask}, ctx);
    return std::max(largest_difference(a.boxes, b.boxes), largest_difference(a.logits, b.logits));
  };
  CHECK(differs("detr", {{"encoder_pos", "sine"}}) == 0);
  CHECK(differs("detr", {{"encoder_pos", "none"}}) == 0);
  CHECK(differs("detr", {{"pre_norm", true}}) == 0);
  // Tokens on padding take part in a PEG's convolution, unless they are set to zero.
  CHECK(differs("detr", {{"encoder_pos", "peg"}}) > 1e-6);
  CHECK(differs("detr", {{"encoder_pos", "peg"}, {"peg_mask_input", true}}) == 0);
  // Deformable DETR's norm includes padding in its statistics unless norm_free_cells is set.
  CHECK(differs("ddetr", json::object()) > 1e-6);
  CHECK(differs("ddetr", {{"norm_free_cells", true}}) == 0);
}

TEST_CASE("other values of masked tokens change no box of Deformable DETR") {
  ParameterStore store(5, kF64);
  DetectorConfig c;
  c.d_model = 8;
  c.nheads = 2;
  c.enc_layers = c.dec_layers = 2;
  c.dim_feedforward = 8;
  c.dropout = 0;
  const DeformableTransformer transformer(Scope(store), c, {2, 2});
  const MapCells cells{{4, 6}, mask_of(4, 6, 3, 4)};
  const Tensor free = ops::reshape(cells.free, {2, 24, 1});
  const NoGrad no_grad;
  const auto decode = [&](const Tensor& x) {
    Context ctx = in_f64();
    const Tensor sine = sine_positions(cells, 8, -0.5, kF64);
    const Tensor memory = transformer.encode(x, sine, cells, ctx);
    const DeformableQueries queries{drawn({1, 3, 8}, 4), drawn({2, 3, 2}, 5) + 2.5};
    return transformer.decode(drawn({2, 3, 8}, 6), queries, {memory, cells}, ctx);
  };
  const Tensor x = drawn({2, 24, 8}, 2);
  const Tensor other = x * free + drawn(x.shape(), 3) * (-free + 1);
  CHECK(largest_difference(x, other) > 1);
  CHECK(largest_difference(decode(x), decode(other)) == 0);
}

TEST_CASE("without positions the encoder commutes with a permutation of its tokens") {
  const MapCells cells{{3, 4}, {}};
  const Tensor x = drawn({2, 12, 8}, 2), order = backwards(12);
  const auto differs = [&](EncoderPos positions) {
    ParameterStore store(5, kF64);
    DetectorConfig c;
    c.d_model = 8;
    c.nheads = 2;
    c.enc_layers = 2;
    c.dec_layers = 1;
    c.dim_feedforward = 8;
    c.encoder_pos = positions;
    const DetrTransformer transformer(Scope(store), c, /*pre_norm=*/false);
    const Tensor sine = sine_positions(cells, 8, 0, kF64);
    const NoGrad no_grad;
    Context ctx = in_f64();
    const Tensor first = transformer.encode(ops::index_select(x, 1, order), sine, cells, ctx);
    const Tensor last = ops::index_select(transformer.encode(x, sine, cells, ctx), 1, order);
    return largest_difference(first, last);
  };
  CHECK(differs(EncoderPos::none) < 1e-12);
  CHECK(differs(EncoderPos::sine) > 1e-3);
  CHECK(differs(EncoderPos::peg) > 1e-3);
}

TEST_CASE("moving the image by the stride moves the PEG's response away from the borders") {
  constexpr std::int64_t kStride = 8, kCells = 12;
  ParameterStore store(5, kF64);
  const Scope s(store);
  const ResNet body(s / "body", {.stem = 2, .planes = {2, 2}, .blocks = {1, 1}});
  const DetectionPeg peg(s / "peg", {.dim = 8});
  const MapCells cells{{kCells, kCells}, {}};
  const auto response = [&](const Tensor& images) {
    const NoGrad no_grad;
    const Tensor map = body(images, in_f64());
    const Tensor tokens = ops::permute(ops::reshape(map, {1, 8, kCells * kCells}), {0, 2, 1});
    return ops::reshape(peg(tokens, cells, in_f64()), {1, kCells, kCells, 8});
  };
  const Tensor wide = drawn({1, 3, kStride * kCells, kStride * (kCells + 1)}, 1);
  const auto window = [&](std::int64_t first) {
    return ops::slice(wide, 3, first, first + kStride * kCells).contiguous();
  };
  const Tensor a = response(window(0)), b = response(window(kStride));
  const auto inner = [](const Tensor& x, std::int64_t first) {
    const std::int64_t margin = 4;
    return ops::slice(ops::slice(x, 1, margin, kCells - margin), 2, first,
                      first + kCells - 2 * margin - 1);
  };
  CHECK(largest_difference(inner(a, 5), inner(b, 4)) < 1e-12);
  CHECK(largest_difference(inner(a, 4), inner(b, 4)) > 1e-3);
}

TEST_CASE("a PEG leaves tokens on padding alone, and its norm is live") {
  ParameterStore store(5, kF64);
  const DetectionPeg peg(Scope(store) / "peg", {.dim = 4});
  const MapCells cells{{4, 6}, mask_of(4, 6, 3, 4)};
  const Tensor x = drawn({2, 24, 4}, 1), padding = ops::reshape(-cells.free + 1, {2, 24, 1});
  Context ctx = in_f64();
  ctx.training = true;
  const Tensor y = peg(x, cells, ctx);
  CHECK(largest_difference(y * padding, x * padding) == 0);
  CHECK(largest_difference(y, x) > 0.1);
  CHECK(largest_difference(store.find("peg.proj.1.running_mean"), zeros({4}, kF64)) > 0);
}

TEST_CASE("sine positions count the free cells of each image") {
  const MapCells cells{{2, 4}, mask_of(2, 4, 2, 2)};
  const Tensor sine = sine_positions(cells, 8, 0, kF64);  // [2, 8, 8]
  const auto at = [&](std::int64_t image, std::int64_t cell, std::int64_t channel) {
    return sine.at((image * 8 + cell) * 8 + channel);
  };
  const double turn = 2 * 3.14159265358979323846;
  CHECK(at(0, 0, 0) == doctest::Approx(std::sin(turn / (2 + 1e-6))));      // row 1 of 2
  CHECK(at(0, 4, 1) == doctest::Approx(std::cos(2 * turn / (2 + 1e-6))));  // row 2 of 2
  CHECK(at(0, 2, 4) == doctest::Approx(std::sin(3 * turn / (4 + 1e-6))));  // column 3 of 4
  CHECK(at(1, 0, 4) == doctest::Approx(std::sin(turn / (2 + 1e-6))));      // column 1 of 2
  CHECK(at(0, 2, 6) == doctest::Approx(std::sin(3 * turn / (4 + 1e-6) / 100)));
  const Tensor centred = sine_positions(cells, 8, -0.5, kF64);
  CHECK(centred.at(4) == doctest::Approx(std::sin(0.5 * turn / (4 + 1e-6))));
}

TEST_CASE("a cell is free if its first pixel is") {
  const Tensor mask = mask_of(33, 40, 17, 9);
  const MapCells cells = map_cells(mask, {3, 3}, DType::f32);
  // Rows 0, 11, 22 and columns 0, 13, 26 of the mask.
  const std::vector<double> expected{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0};
  CHECK(cells.free.to_vector() == expected);
}

TEST_CASE("reference points lie in the image without its padding") {
  const auto model = tiny_detector("ddetr");
  Tensor locations;
  Context ctx = in_f64();
  ctx.tap = [&](std::string_view name, const Tensor& x) {
    if (name == "attn/decoder/0/cross/locations") locations = x;  // [2, Q, H, P, 2]
  };
  const NoGrad no_grad;
  model->store().find("transformer.decoder.layers.0.cross_attn.sampling_offsets.bias").fill_(0);
  static_cast<void>(model->forward(drawn({2, 3, 32, 48}, 1), mask_of(32, 48, 16, 12), ctx));
  REQUIRE(locations.defined());
  const Tensor whole = ops::select(locations, 0, 0), part = ops::select(locations, 0, 1);
  // 2 of 4 rows and 2 of 6 columns hold the second image: cells at pixels 0 and 8 of 12.
  const Tensor share = from_values({2}, {2.0 / 6, 2.0 / 4}, kF64);
  CHECK(largest_difference(part, whole * share) < 1e-12);
}

TEST_CASE(
    "objects do not depend on the padding's extent, but for the ResNet's border and the norm") {
  // Through the ResNet's border the padding's zeros reach cells of the image; at the level of the
  // map more padding changes nothing, unless Deformable DETR's norm counts it.
  const NoGrad no_grad;
  const Tensor map = drawn({2, 8, 4, 6}, 2), mask = mask_of(4, 6, 3, 4);
  const std::vector<std::int64_t> amounts{0, 2, 0, 1};
  const auto change = [&](const char* family, const json& settings) {
    const auto model = tiny_detector(family, settings);
    Context ctx = in_f64();
    const DetectorOutput small = model->detect({map, mask}, ctx);
    const DetectorOutput large =
        model->detect({ops::pad(map, amounts), ops::pad(mask, amounts)}, ctx);
    return std::max(largest_difference(small.boxes, large.boxes),
                    largest_difference(small.logits, large.logits));
  };
  CHECK(change("detr", json::object()) < 1e-12);
  CHECK(change("ddetr", {{"norm_free_cells", true}}) < 1e-12);
  CHECK(change("ddetr", json::object()) > 1e-6);
}

TEST_CASE("a norm of the free cells is the group norm where there is no padding") {
  const NoGrad no_grad;
  const Tensor map = drawn({2, 8, 4, 6}, 2), mask = ones({2, 4, 6}, kF64);
  const auto logits = [&](bool free_cells) {
    const auto model = tiny_detector("ddetr", {{"norm_free_cells", free_cells}});
    Context ctx = in_f64();
    return model->detect({map, mask}, ctx).logits;
  };
  CHECK(largest_difference(logits(true), logits(false)) < 1e-12);
}

TEST_CASE("a run in bf16 stays near f32") {
  for (const char* family : {"detr", "ddetr"}) {
    json config = kTinyDetector;
    config.update({{"family", family}, {"d_model", 32}});
    const auto model = model_as<Detector>(make_model_from_config(config, 3));
    const Tensor images = rand_normal({2, 3, 32, 48}, {0, 1}, {4});
    const Tensor mask = mask_of(32, 48, 16, 12).to(DType::f32);
    const NoGrad no_grad;
    Context exact, fast;
    fast.activations = DType::bf16;
    const DetectorOutput a = model->forward(images, mask, exact);
    const DetectorOutput b = model->forward(images, mask, fast);
    CHECK(b.boxes.dtype() == DType::f32);
    CHECK(largest_difference(a.boxes, b.boxes) < 0.02);
  }
}

TEST_CASE("recomputed encoder layers give the same gradients") {
  for (const char* family : {"detr", "ddetr"}) {
    const auto gradient = [&](bool recompute) {
      const auto model = tiny_detector(family, {{"encoder_pos", "peg"}, {"dropout", 0.2}});
      Context ctx = in_f64();
      ctx.training = true;
      ctx.recompute_blocks = recompute;
      const DetectorOutput out =
          model->forward(drawn({2, 3, 32, 48}, 1), mask_of(32, 48, 16, 12), ctx);
      backward(ops::sum(out.boxes * drawn(out.boxes.shape(), 2)));
      return model->store().find("transformer.encoder.layers.0.linear1.weight").grad();
    };
    CHECK(largest_difference(gradient(false), gradient(true)) == 0);
  }
}

TEST_CASE("every trainable parameter of a detector gets a finite gradient that is not zero") {
  const Tensor images = rand_normal({2, 3, 32, 48}, {0, 1}, {4});
  const Tensor mask = mask_of(32, 48, 16, 36).to(DType::f32);
  const std::vector<Objects> objects{{{0, 2}, {0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.5, 0.3}},
                                     {{1}, {0.5, 0.5, 0.6, 0.8}}};
  for (const char* family : {"detr", "ddetr"}) {
    for (const DType activations : {DType::f32, DType::bf16}) {
      json config = kTinyDetector;
      config.update(
          {{"family", family}, {"d_model", 64}, {"encoder_pos", "peg"}, {"dropout", 0.1}});
      const auto model = model_as<Detector>(make_model_from_config(config, 3));
      {
        const NoGrad no_grad;  // leave the state in which layers that start at 0 hide others
        for (const Parameter& p : model->store().parameters()) {
          p.tensor.copy_(p.tensor + rand_normal(p.tensor.shape(), {0, 0.1}, {2}));
        }
      }
      Context ctx;
      ctx.training = true;
      ctx.activations = activations;
      const DetectorOutput out = model->forward(images, mask, ctx);
      backward(set_loss(out.logits, out.boxes, objects, model->loss_options()).total);
      for (const Parameter& p : model->store().parameters()) {
        CAPTURE(family);
        CAPTURE(p.name);
        CHECK(p.tensor.grad().defined() == p.tensor.requires_grad());
        if (!p.tensor.grad().defined()) continue;
        CHECK(p.tensor.grad().dtype() == DType::f32);
        CHECK(all_finite(p.tensor.grad()));
        // DETR's decoder starts at 0: all values of its first attention are one bias.
        const bool none = p.name == "transformer.decoder.layers.0.self_attn.in_proj_weight";
        CHECK((none || ops::sum(ops::abs(p.tensor.grad())).item() > 0));
      }
    }
  }
}

TEST_CASE("settings that do not fit are refused by name") {
  CHECK(contains(detector_error("detr", {{"d_model", 10}}), "d_model 10 is not divisible by 4"));
  CHECK(contains(detector_error("detr", {{"nheads", 3}}), "nheads 3"));
  CHECK(contains(detector_error("ddetr", {{"d_model", 16}}), "not divisible by 32"));
  CHECK(contains(detector_error("detr", {{"planes", {2}}}), "1 planes and 2 blocks"));
  CHECK(contains(detector_error("detr", {{"peg_positions", {0, 2}}}), "from -1 to 1"));
  CHECK(contains(detector_error("detr", {{"peg_positions", {1, 0}}}), "ascending"));
  CHECK(contains(detector_error("ddetr", {{"pre_norm", true}}), "pre_norm is unknown"));
  CHECK(contains(detector_error("detr", {{"enc_n_points", 2}}), "enc_n_points is unknown"));
  CHECK(contains(detector_error("detr", {{"encoder_pos", "pegs"}}), "sine none peg"));
  CHECK(
      contains(detector_error("detr", {{"backbone", "vit_tiny_patch4_32"}}), "blocks is unknown"));
  const json mae{{"family", "detr"}, {"backbone", "mae_vit_tiny_patch4_32"}};
  CHECK_THROWS_WITH_AS(static_cast<void>(make_model_from_config(mae)),
                       "detector config: backbone: mae_vit_tiny_patch4_32 is a masked autoencoder, "
                       "expected a ViT, CPVT or PerViT",
                       Error);
  const auto model = tiny_detector("detr");
  Context ctx = in_f64();
  CHECK_THROWS_AS(static_cast<void>(model->forward(drawn({1, 3, 32, 48}, 1), ones({1, 32}), ctx)),
                  Error);
  CHECK_THROWS_AS(static_cast<void>(model->forward(drawn({1, 1, 32, 48}, 1), {}, ctx)), Error);
}
