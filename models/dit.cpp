// Forward pass of the diffusion transformer.
#include "models/dit.h"

#include "engine/autograd.h"
#include "engine/random.h"
#include "models/layers/patch_pixels.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr double kTimeSteps = 1000;  ///< of the usual noise schedule, for probe()

/// The official code starts the patch embedding with Xavier's weights over its matrix [D, C p p].
Init patch_weight(const DitConfig& c) {
  const PatchConfig& image = c.image;
  return xavier(image.in_chans * image.patch_size * image.patch_size, c.encoder.embed_dim);
}

PositionTable positions(const Scope& s, const DitConfig& c) {
  const TokenGrid grid{c.image.grid(), 0};
  return {make_pos_embed(s, c.pos_embed, grid, c.encoder.embed_dim), c.pos_embed, grid};
}

std::vector<AdaptiveBlock> make_adaptive_blocks(const Scope& s, const EncoderConfig& c) {
  std::vector<AdaptiveBlock> blocks;
  for (std::int64_t i = 0; i < c.depth; ++i) blocks.emplace_back(s.block(i), c, i);
  return blocks;
}

std::int64_t out_values(const DitConfig& c) {
  return c.image.patch_size * c.image.patch_size * c.out_chans();
}

}  // namespace

Dit::Dit(ModelInfo info, const DitConfig& c, std::uint64_t seed, TensorOptions options)
    : Model(std::move(info), seed, options),
      config_(c),
      x_embedder_(at("x_embedder", Role::patches), c.image, c.encoder.embed_dim, patch_weight(c),
                  PatchEmbedParts{.bias_values = constant(0)}),
      t_embedder_(at("t_embedder"), c.encoder.embed_dim),
      y_embedder_(at("y_embedder", Role::class_table), c.num_classes, c.has_null_class(),
                  c.encoder.embed_dim),
      pos_embed_(positions(top(), c)),
      blocks_(make_adaptive_blocks(at("blocks").xavier(), c.encoder)),
      final_layer_(at("final_layer", Role::output), c.encoder.embed_dim, out_values(c),
                   c.encoder.norm_eps) {}

Tensor Dit::probe(const Tensor& images, Context& ctx) {
  const TensorOptions options{DType::f32, images.device()};
  const std::int64_t B = images.size(0);
  const Tensor t = rand_uniform({B}, {0, kTimeSteps}, ctx.next_key().now(), options);
  const auto K = static_cast<double>(config_.num_classes);
  const Tensor y = rand_uniform({B}, {0, K}, ctx.next_key().now(), options);
  return denoise(images, t, ops::clamp(y, 0, K - 1).to(DType::i64), ctx);
}

Tensor Dit::denoise(const Tensor& x, const Tensor& t, const Tensor& y, Context& ctx) const {
  check_inputs(x, t, y);
  PatchConfig image = config_.image;
  image.img_size = {x.size(2), x.size(3)};
  image.in_chans = config_.out_chans();
  const Tensor patches = x_embedder_(x, ctx);  // [B, N, D]
  const Tensor where = pos_embed_.at({image.grid(), 0}, ctx).to(patches.dtype());
  const Tensor condition = ops::silu(t_embedder_(t, ctx) + y_embedder_(y, ctx));  // [B, D]
  Tensor tokens = patches + where;
  ctx.show("feat/embed", tokens);
  for (const AdaptiveBlock& block : blocks_) tokens = block(tokens, condition, ctx);
  return images_of_patches(final_layer_(tokens, condition, ctx), image);
}

void Dit::check_inputs(const Tensor& x, const Tensor& t, const Tensor& y) const {
  check(x.rank() == 4, "Dit: got images ", x.shape(), ", expected [B, C, H, W]");
  const Shape batch{x.size(0)};
  check(t.shape() == batch, "Dit: got times ", t.shape(), ", expected ", batch);
  check(y.shape() == batch && y.dtype() == DType::i64, "Dit: got classes ", y.dtype(), ' ',
        y.shape(), ", expected i64 ", batch);
}

Tensor Dit::drop_labels(const Tensor& y, const Tensor& noise) const {
  if (!config_.has_null_class()) return y;
  check(noise.shape() == y.shape(), "Dit: got noise ", noise.shape(), " for labels ", y.shape());
  const NoGrad no_grad;
  const Tensor limit = full(y.shape(), config_.class_dropout_prob, noise.options());
  const Tensor labels = y.to(DType::f64);
  const Tensor null = full(y.shape(), static_cast<double>(null_label()), labels.options());
  return ops::where(ops::less(noise, limit), null, labels).to(DType::i64);
}

std::int64_t Dit::null_label() const {
  check(config_.has_null_class(), info().name,
        " has no null class, because class_dropout_prob is 0; guidance needs one");
  return config_.num_classes;
}

TokenInfo Dit::tokens() const {
  return {{config_.image.grid(), 0},
          config_.image.patch_size,
          config_.encoder.depth,
          config_.encoder.num_heads};
}

}  // namespace fovea
