// How many operations of AMX's tiles a training step takes, counted by the twin.
#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "ops/loss.h"
#include "tests/models/model_configs.h"
#include "tests/support/least_tiles.h"

using namespace fovea;
using namespace fovea::tests;
using nlohmann::json;
using ops::cpu::TileCounts;
using test::least_tiles;
using test::operator+=;

namespace {

/// Whether this process computes with the twin of AMX.
bool counts_tiles() {
  const char* isa = std::getenv("FOVEA_ISA");
  return isa != nullptr && std::string_view(isa) == "amx_twin";
}

struct Sizes {
  std::int64_t batch, side, patch, dim, heads, depth, classes;

  [[nodiscard]] std::int64_t tokens() const { return side / patch * (side / patch); }
};

TileCounts counted(const Sizes& s) {
  const auto model = make_model_from_config(config_of("vit", {{"depth", s.depth},
                                                              {"img_size", s.side},
                                                              {"patch_size", s.patch},
                                                              {"embed_dim", s.dim},
                                                              {"num_heads", s.heads},
                                                              {"num_classes", s.classes},
                                                              {"class_token", false},
                                                              {"global_pool", "avg"}}),
                                            1);
  const Tensor images = rand_normal({s.batch, 3, s.side, s.side}, {0, 1}, {7});
  const Tensor labels = full({s.batch}, 1, {DType::i64, {}});
  Context ctx;
  ctx.training = true;
  ctx.activations = DType::bf16;
  const OneThread alone;  // whose counts are read
  ops::cpu::tile_counts() = {};
  backward(ops::cross_entropy(model_as<Classifier>(*model).forward(images, ctx).logits, labels));
  return ops::cpu::tile_counts();
}

/// y = x w^T of `rows` rows and its gradients: dx = dy w, dw = dy^T x.
TileCounts linear(std::int64_t rows, std::int64_t in, std::int64_t out, bool needs_dx = true) {
  TileCounts sum = least_tiles(rows, out, in);
  if (needs_dx) sum += least_tiles(rows, in, out);
  sum += least_tiles(out, in, rows);
  return sum;
}

TileCounts attention(const Sizes& s) {
  const std::int64_t n = s.tokens();
  return test::least_tiles_of_attention(s.batch * s.heads, n, n, s.dim / s.heads);
}

TileCounts tiles_of_delta(const Sizes& s) {
  return test::tiles_of_delta(s.depth * s.batch * s.heads, s.tokens(), s.dim / s.heads);
}

/// The head computes in f32.
TileCounts least(const Sizes& s) {
  const std::int64_t rows = s.batch * s.tokens();
  TileCounts sum = linear(rows, 3 * s.patch * s.patch, s.dim, /*needs_dx=*/false);
  for (std::int64_t block = 0; block < s.depth; ++block) {
    sum += linear(rows, s.dim, 3 * s.dim);
    sum += attention(s);
    sum += linear(rows, s.dim, s.dim);
    sum += linear(rows, s.dim, 4 * s.dim);
    sum += linear(rows, 4 * s.dim, s.dim);
  }
  return sum;
}

}  // namespace

TEST_CASE("a training step multiplies and loads few more tiles than the least" *
          doctest::skip(!counts_tiles()) * doctest::description("needs FOVEA_ISA=amx_twin")) {
  // Heads as wide as tiles are deep, and twice that; whole tiles of rows, and parts of them.
  for (const Sizes& s :
       {Sizes{4, 32, 4, 64, 1, 2, 10}, {4, 32, 4, 96, 3, 2, 10}, {2, 28, 2, 192, 3, 1, 10}}) {
    const TileCounts all = least(s), delta = tiles_of_delta(s), counts = counted(s);
    CAPTURE(s.dim);
    CHECK(counts.products == all.products + delta.products);
    // Besides delta's loads, those of dk and dv where a further part of the queries adds to them:
    // of 196 queries there are 3 parts.
    CHECK(counts.loads >= all.loads + delta.loads);
    CHECK(static_cast<double>(counts.loads) < 1.02 * static_cast<double>(all.loads));
  }
}
