// What utilisation is the quotient of: the products that a step computes, counted by hand for a
// small ViT, and the rate of the model's own products.
#include "train/run/timers.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/registry.h"
#include "ops/reduce.h"
#include "train/plan/product_rate.h"

using namespace fovea;

namespace {

constexpr std::int64_t kImages = 3, kDim = 16, kPatches = 16, kTokens = kPatches + 1, kClasses = 4;

std::unique_ptr<Model> small_vit() {
  return make_model_from_config({{"family", "vit"},
                                 {"img_size", 8},
                                 {"patch_size", 2},
                                 {"num_classes", kClasses},
                                 {"embed_dim", kDim},
                                 {"depth", 2},
                                 {"num_heads", 2}});
}

/// Multiply-adds by hand for one image: the patches', and those of all other layers. The head reads
/// the class token, for which alone the last block has a query, a projection and an MLP.
constexpr std::int64_t kEmbedding = kPatches * (3 * 2 * 2) * kDim;
constexpr std::int64_t kWholeBlock = kTokens * (3 + 1 + 4 + 4) * kDim * kDim +  // four products
                                     2 * kTokens * kTokens * kDim;              // attention
constexpr std::int64_t kLastBlock = kTokens * 2 * kDim * kDim +                 // keys, values
                                    (1 + 1 + 4 + 4) * kDim * kDim + 2 * kTokens * kDim;
constexpr std::int64_t kHead = kDim * kClasses;

struct Counted {
  double forward = 0, backward = 0;
};

Counted products_of(Model& model, bool recompute = false) {
  Context ctx;
  ctx.training = true;
  ctx.recompute_blocks = recompute;
  const Tensor images = rand_normal({kImages, 3, 8, 8}, {0, 1}, {1});
  Counted flop;
  Tensor loss;
  {
    const ForwardProducts counting(flop.forward);
    loss = ops::sum(model.probe(images, ctx));
  }
  const BackwardProducts counting(flop.backward);
  backward(loss);
  model.finish_backward();
  return flop;
}

double flop_of(std::int64_t multiply_adds) {
  return 2.0 * static_cast<double>(kImages * multiply_adds);
}

}  // namespace

TEST_CASE("a step's products are those that run: nothing that no head reads, no image's gradient") {
  const Counted flop = products_of(*small_vit());
  const std::int64_t inner = kWholeBlock + kLastBlock + kHead;
  CHECK(flop.forward == flop_of(kEmbedding + inner));
  CHECK(flop.backward == flop_of(kEmbedding + 2 * inner));  // the patches' weights alone
}

TEST_CASE("what is frozen has products in the forward pass alone") {
  const auto model = small_vit();
  for (const Parameter& p : model->store().parameters()) {
    p.tensor.set_requires_grad(p.name.starts_with("head."));
  }
  const Counted flop = products_of(*model);
  CHECK(flop.forward == flop_of(kEmbedding + kWholeBlock + kLastBlock + kHead));
  CHECK(flop.backward == flop_of(kHead));  // of its weights
}

TEST_CASE("a block that is computed again is counted once") {
  const auto model = small_vit();
  const Counted once = products_of(*model), again = products_of(*model, /*recompute=*/true);
  CHECK(again.forward == once.forward);
  CHECK(again.backward == once.backward);
}

TEST_CASE("a ViT's largest products are the four of a block, for all tokens of a batch") {
  constexpr std::int64_t rows = kImages * kTokens;
  const auto products = largest_products(*small_vit(), kImages);
  CHECK(products == std::vector<LayerProduct>{{rows, kDim, 4 * kDim},
                                              {rows, 4 * kDim, kDim},
                                              {rows, kDim, 3 * kDim},
                                              {rows, kDim, kDim}});
}

TEST_CASE("a product that takes too long is measured in part") {
  constexpr std::int64_t kRows = std::int64_t{1} << 40;  // more than any memory
  for (const DType dtype : {DType::f32, DType::bf16}) {
    CHECK(measured_product_rate({{kRows, 64, 64}}, dtype, {}) > 1e8);
  }
  CHECK(measured_product_rate({}, DType::f32, {}) == 0);
}
