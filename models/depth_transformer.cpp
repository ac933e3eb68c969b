// Forward pass of a transformer with a dense head, from images to depths.
#include "models/depth_transformer.h"

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr double kMinDepth = 1e-3;  // metres: logarithms of depths stay finite

}  // namespace

DepthTransformer::DepthTransformer(ModelInfo info, const DepthConfig& c, std::uint64_t seed,
                                   TensorOptions options)
    : Model(std::move(info), seed, options),
      config_(c),
      embed_(top(), c.tokens, c.image.grid(), c.encoder.embed_dim),
      rope_(at("rope"), c.encoder.rotary()),
      patch_embed_(at("patch_embed", Role::patches), c.image, c.encoder.embed_dim),
      pegs_(at("pos_block", Role::position_encoding), c.pegs, c.encoder.embed_dim),
      blocks_(make_blocks(at("blocks"), c.encoder)),
      norm_(at("norm", Role::norm), c.encoder.embed_dim, c.encoder.norm()),
      head_(at("head", Role::output), c.encoder.embed_dim, c.image.patch_size) {}

/// Without a table of positions, images of any size of whole patches fit.
Tensor DepthTransformer::embed(const Tensor& images, const Context& ctx) const {
  return takes_any_size() ? patch_embed_.any_size(images, ctx) : patch_embed_(images, ctx);
}

/// images [B, C, H, W] -> depths [B, H, W]. The prefix tokens are left out by the head.
Tensor DepthTransformer::forward(const Tensor& images, Context& ctx) {
  auto [x, where] = embed_(embed(images, ctx), config_.image.grid_of(images), ctx);  // [B, L, D]
  where = rope_(where, ctx);
  x = pegs_(-1, x, where.grid, ctx);
  ctx.show("feat/embed", x);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i](x, ctx, where);
    x = pegs_(static_cast<std::int64_t>(i), x, where.grid, ctx);
  }
  const Tensor patches = ops::slice(x, 1, where.grid.prefix, x.size(1));  // [B, N, D]
  const Tensor values = head_(norm_(patches, ctx), where.grid);           // [B, H, W]
  if (config_.loss == DepthLoss::l1) return values;
  return ops::softplus(values.to(acc_dtype(values.dtype()))) + kMinDepth;
}

TokenInfo DepthTransformer::tokens() const {
  return {{config_.image.grid(), config_.tokens.prefix()},
          config_.image.patch_size,
          config_.encoder.depth,
          config_.encoder.num_heads,
          /*hides_some=*/false,
          !config_.encoder.is_differential()};
}

}  // namespace fovea
