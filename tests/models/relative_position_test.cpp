// Relative position encodings against their formulas written out pair by pair.
#include "models/layers/relative_position.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/layers/attention.h"
#include "models/registry.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/relative.h"
#include "ops/softmax.h"
#include "tests/models/outputs.h"
#include "tests/support/errors.h"
#include "tests/support/f64.h"

using namespace fovea;
using nlohmann::json;
using tests::check_error;
using tests::worst_difference;

namespace {

constexpr std::int64_t kBatch = 2, kHeads = 2, kHeadWidth = 3, kTokenWidth = kHeads * kHeadWidth;

/// Attention of one layer, and what the expected values are made from.
struct Layer {
  TokenGrid grid;
  ParameterStore store{1, kF64};
  Attention attention;
  Tensor qkv, bias, out;

  Layer(const TokenGrid& g, RelativePosition kind)
      : grid(g),
        attention(Scope(store) / "attn",
                  {.heads = {.dim = kTokenWidth, .heads = kHeads, .relative = kind, .block = 3},
                   .qkv = {.dim = kTokenWidth, .heads = kHeads, .kv_heads = kHeads}}) {
    const NoGrad no_grad;
    std::uint64_t stream = 0;
    for (const Parameter& p : store.parameters()) {
      p.tensor.copy_(rand_normal(p.tensor.shape(), {0, 0.7}, {5, stream++}, kF64));
    }
    const Tensor weight = store.find("attn.proj.weight");  // so that out is the heads themselves
    weight.fill_(0);
    for (std::int64_t i = 0; i < kTokenWidth; ++i) weight.data<double>()[i * kTokenWidth + i] = 1;
    store.find("attn.proj.bias").fill_(0);
    Context ctx;
    ctx.tap = [this](std::string_view name, const Tensor& value) {
      if (name == "attn/3/qkv") qkv = value;
      if (name == "attn/3/bias") bias = value;
    };
    const Tensor x = rand_normal({kBatch, grid.tokens(), kTokenWidth}, {0, 1}, {9}, kF64);
    out = attention(x, ctx, {grid, {}});
  }

  [[nodiscard]] std::int64_t L() const { return grid.tokens(); }
  /// Component c of q (0), k (1) or v (2).
  [[nodiscard]] double part(int which, std::int64_t b, std::int64_t h, std::int64_t token,
                            std::int64_t c) const {
    return qkv.at(((b * L() + token) * 3 + which) * kTokenWidth + h * kHeadWidth + c);
  }
  [[nodiscard]] std::int64_t row(std::int64_t token) const {
    return (token - grid.prefix) / grid.size[1];
  }
  [[nodiscard]] std::int64_t column(std::int64_t token) const {
    return (token - grid.prefix) % grid.size[1];
  }
};

double table_entry(const Layer& l, const std::string& name, std::int64_t offset, std::int64_t c) {
  const std::int64_t clipped = std::max<std::int64_t>(-8, std::min<std::int64_t>(8, offset));
  return l.store.find("attn." + name).at((clipped + 8) * kHeadWidth + c);
}

/// a^K_ij or a^V_ij, component c.
double rpe2d_vector(const Layer& l, const std::string& table, std::int64_t i, std::int64_t j,
                    std::int64_t c) {
  if (i < l.grid.prefix || j < l.grid.prefix) return 0;
  return table_entry(l, table + ".h", l.row(j) - l.row(i), c) +
         table_entry(l, table + ".w", l.column(j) - l.column(i), c);
}

/// The bucket of iRPE from its definition: |t| = 0, 1, 2, 3 and 4 or more give 0, 1, 2, 2, 3.
std::int64_t irpe_bucket(const Layer& l, std::int64_t i, std::int64_t j) {
  if (i < l.grid.prefix || j < l.grid.prefix) return 49;
  const auto step = [](std::int64_t t) {
    const std::int64_t steps[] = {0, 1, 2, 2, 3};
    const std::int64_t size = steps[std::min<std::int64_t>(4, t < 0 ? -t : t)];
    return t < 0 ? -size : size;
  };
  return (step(l.row(i) - l.row(j)) + 3) * 7 + step(l.column(i) - l.column(j)) + 3;
}

double irpe_vector(const Layer& l, std::int64_t i, std::int64_t j, std::int64_t c) {
  return l.store.find("attn.rpe_k.lookup_table_weight").at(c * 50 + irpe_bucket(l, i, j));
}

/// Compares the shown bias and the output with sums over pairs; key and value give a_ij[c].
template <class Key, class Value>
void compare(const Layer& l, const Key& key, const Value& value) {
  double worst_bias = 0, worst_out = 0;
  for (std::int64_t row = 0; row < kBatch * kHeads * l.L(); ++row) {
    const std::int64_t i = row % l.L(), h = row / l.L() % kHeads, b = row / l.L() / kHeads;
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t j = 0; j < l.L(); ++j) {
      double content = 0, position = 0;
      for (std::int64_t c = 0; c < kHeadWidth; ++c) {
        content += l.part(0, b, h, i, c) * l.part(1, b, h, j, c) / std::sqrt(double{kHeadWidth});
        position += l.part(0, b, h, i, c) * key(i, j, c) / std::sqrt(double{kHeadWidth});
      }
      worst_bias = std::max(worst_bias, std::abs(position - l.bias.at(row * l.L() + j)));
      weights.push_back(std::exp(content + position));
      total += weights.back();
    }
    for (std::int64_t c = 0; c < kHeadWidth; ++c) {
      double sum = 0;
      for (std::int64_t j = 0; j < l.L(); ++j) {
        sum +=
            weights[static_cast<std::size_t>(j)] / total * (l.part(2, b, h, j, c) + value(i, j, c));
      }
      const double ours = l.out.at((b * l.L() + i) * kTokenWidth + h * kHeadWidth + c);
      worst_out = std::max(worst_out, std::abs(sum - ours));
    }
  }
  CHECK(worst_bias < 1e-13);
  CHECK(worst_out < 1e-13);
}

const std::vector<TokenGrid>& grids() {
  static const std::vector<TokenGrid> all{{{3, 4}, 1}, {{12, 2}, 0}, {{1, 11}, 2}, {{1, 1}, 1}};
  return all;
}

}  // namespace

TEST_CASE("two-dimensional relative positions are those of the formula") {
  for (const TokenGrid& grid : grids()) {
    const Layer l(grid, RelativePosition::rpe2d);
    compare(
        l, [&](auto i, auto j, auto c) { return rpe2d_vector(l, "rpe_k", i, j, c); },
        [&](auto i, auto j, auto c) { return rpe2d_vector(l, "rpe_v", i, j, c); });
  }
}

TEST_CASE("iRPE's contextual product on keys is that of the formula") {
  for (const TokenGrid& grid : grids()) {
    const Layer l(grid, RelativePosition::irpe);
    compare(
        l, [&](auto i, auto j, auto c) { return irpe_vector(l, i, j, c); },
        [](auto, auto, auto) { return 0.0; });
  }
}

TEST_CASE("iRPE's steps for long distances") {
  const Tensor buckets = relative_buckets(RelativePosition::irpe, {{1, 40}, 0});
  const auto step = [&](std::int64_t i, std::int64_t j) {
    return buckets.at(i * 40 + j) - 3 * 7 - 3;
  };
  for (const auto& [distance, expected] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {7, 3}, {15, 3}, {16, 3}, {39, 3}}) {
    CHECK(step(distance, 0) == expected);
    CHECK(step(0, distance) == -expected);
  }
}

TEST_CASE("buckets are those of the grid that is asked for") {
  const TokenGrid a{{2, 3}, 1}, b{{3, 2}, 1};
  const std::vector<double> first = relative_buckets(RelativePosition::rpe2d, a).to_vector();
  CHECK(relative_buckets(RelativePosition::rpe2d, b).to_vector() != first);
  CHECK(relative_buckets(RelativePosition::irpe, a).size(0) == 1);
  CHECK(relative_buckets(RelativePosition::rpe2d, a).to_vector() == first);
}

TEST_CASE("names, initial values and decay of the tables") {
  const json tiny{{"img_size", 32}, {"depth", 1}};
  json rpe = tiny, irpe = tiny;
  rpe["pos_embed"] = "rpe2d";
  irpe["irpe"] = true;
  const auto a = make_model("vit_tiny_patch4_32", rpe), b = make_model("vit_tiny_patch4_32", irpe);
  for (const char* name : {"rpe_k.h", "rpe_k.w", "rpe_v.h", "rpe_v.w"}) {
    CHECK(a->store().find(std::string("blocks.0.attn.") + name).shape() == Shape{17, 64});
  }
  CHECK_FALSE(a->store().find("pos_embed").defined());
  CHECK(b->store().find("pos_embed").defined());
  for (const Parameter& p : a->store().parameters()) {
    if (p.name.find("rpe_") != std::string::npos) CHECK(p.decay == Decay::no);
  }
  for (const Parameter& p : b->store().parameters()) {
    if (p.name.find("rpe_") == std::string::npos) continue;
    CHECK(p.name == "blocks.0.attn.rpe_k.lookup_table_weight");
    CHECK(p.tensor.shape() == Shape{1, 64, 50});
    CHECK(p.decay == Decay::yes);
    for (const double value : p.tensor.to_vector()) CHECK(value == 0);
  }
}

TEST_CASE("positions for the first block's queries and keys reach neither values nor stream") {
  json config{{"family", "vit"}, {"img_size", {8, 12}}, {"patch_size", 4}, {"num_classes", 5},
              {"embed_dim", 12}, {"depth", 2},          {"num_heads", 3},  {"pos_embed", "none"}};
  const auto plain = make_model_from_config(config, 1, kF64);
  config["pos_embed"] = "learned";
  config["pos_embed_qk_first"] = true;
  const auto model = make_model_from_config(config, 1, kF64);
  const auto shown = [](Model& m) {
    std::map<std::string, std::vector<double>> values;
    Context ctx;
    ctx.activations = DType::f64;
    ctx.tap = [&](std::string_view name, const Tensor& x) {
      values[std::string(name)] = x.to_vector();
    };
    const NoGrad no_grad;
    const Tensor images = rand_normal({2, 3, 8, 12}, {0, 1}, {3}, kF64);
    static_cast<void>(m.probe(images, ctx));
    return values;
  };
  auto without = shown(*plain), with = shown(*model);
  CHECK(with["feat/embed"] == without["feat/embed"]);
  const Tensor weight = model->store().find("blocks.0.attn.qkv.weight");
  const Tensor pos = model->store().find("pos_embed");
  double worst = 0;
  for (std::size_t i = 0; i < with["attn/0/qkv"].size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / 36 % 7, out = static_cast<std::int64_t>(i) % 36;
    double expected = without["attn/0/qkv"][i];
    for (std::int64_t c = 0; out < 24 && c < 12; ++c) {
      expected += weight.at(out * 12 + c) * pos.at(row * 12 + c);
    }
    worst = std::max(worst, std::abs(with["attn/0/qkv"][i] - expected));
  }
  CHECK(worst < 1e-14);
  CHECK(with["feat/0"] != without["feat/0"]);
  const auto parameter = [&](const char* name) {
    return model->store().find(std::string("blocks.1.") + name);
  };
  const Tensor normed = ops::layer_norm(from_values({2, 7, 12}, with["feat/0"], kF64),
                                        parameter("norm1.weight"), parameter("norm1.bias"));
  const Tensor next = ops::linear(normed, parameter("attn.qkv.weight"), parameter("attn.qkv.bias"));
  CHECK(worst_difference(next.to_vector(), with["attn/1/qkv"]) < 1e-14);

  json cpvt = config;  // without PEGs it is the same model
  cpvt["family"] = "cpvt";
  cpvt["peg_positions"] = json::array();
  CHECK(shown(*make_model_from_config(cpvt, 1, kF64))["feat/1"] == with["feat/1"]);
  cpvt["peg_positions"] = {-1};
  cpvt["peg_padding"] = "none";
  cpvt["img_size"] = {16, 16};
  check_error([&] { static_cast<void>(make_model_from_config(cpvt)); },
              "pos_embed_qk_first: the PEG at -1 without padding");
  check_error(
      [&] {
        config["pos_embed"] = "none";
        static_cast<void>(make_model_from_config(config));
      },
      "pos_embed_qk_first needs pos_embed learned or sincos");
}

TEST_CASE("a bucket out of range is an error by name") {
  const Tensor x = zeros({1, 1, 2, 5});
  const auto buckets = [](double last) {
    return from_values({1, 2, 2}, {0, 1, 2, last}, {DType::i64, {}});
  };
  CHECK(ops::relative_gather(x, buckets(4)).shape() == Shape{1, 1, 2, 2});
  check_error([&] { static_cast<void>(ops::relative_gather(x, buckets(5))); },
              "relative_gather: bucket 5 is out of range, expected less than 5");
  check_error(
      [&] { static_cast<void>(ops::relative_sum(x, buckets(4), 9)); },
      "relative_sum: got x [1, 1, 2, 5] for buckets [1, 2, 2], expected equal numbers of keys");
  check_error(
      [&] {
        static_cast<void>(ops::relative_gather(x, zeros({1, 2, 2})));
      },
      "expected i64 [K, N, M]");
}
