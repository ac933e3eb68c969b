// Forward passes of the layers of convolutional autoencoders. The residual stream stays in
// ctx.residual(); convolutions and products run in ctx.activations.
#include "models/layers/conv_blocks.h"

#include "models/layers/tokens.h"
#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/norm.h"
#include "ops/resize.h"

namespace fovea {
namespace {

/// [B, N, C] -> [B, 1, N, C].
Tensor one_head(const Tensor& x) { return ops::reshape(x, {x.size(0), 1, x.size(1), x.size(2)}); }

}  // namespace

Conv::Conv(const Scope& s, std::int64_t in, std::int64_t out, std::int64_t kernel,
           const ops::Conv2dOptions& options)
    : weight_(s.param("weight", {out, in, kernel, kernel}, torch_default(in * kernel * kernel))),
      bias_(s.param("bias", {out}, torch_default(in * kernel * kernel))),
      options_(options) {}

Tensor Conv::operator()(const Tensor& x, const Context& ctx) const {
  return ops::conv2d(x.to(ctx.activations), weight_, bias_, options_);
}

GroupNorm::GroupNorm(const Scope& s, std::int64_t dim, std::int64_t groups)
    : affine_(affine_parameters(s.as(Role::norm), dim)), groups_(groups) {}

Tensor GroupNorm::operator()(const Tensor& x) const {
  return ops::group_norm(x, groups_, affine_, kEps);
}

Tensor GroupNorm::silu(const Tensor& x) const {
  return ops::group_norm_silu(x, groups_, affine_, kEps);
}

ConvResidualBlock::ConvResidualBlock(const Scope& s, std::int64_t in, std::int64_t out,
                                     std::int64_t groups)
    : norm1_(s / "norm1", in, groups),
      conv1_(s / "conv1", in, out),
      norm2_(s / "norm2", out, groups),
      conv2_(s / "conv2", out, out) {
  if (in != out) shortcut_.emplace(s / "conv_shortcut", in, out, 1);
}

Tensor ConvResidualBlock::operator()(const Tensor& x, const Context& ctx) const {
  Tensor branch = conv1_(norm1_.silu(x), ctx);  // one name: without a tape each input is freed
  branch = norm2_.silu(branch);
  branch = conv2_(branch, ctx);
  branch = branch.to(ctx.residual());
  const Tensor residual = shortcut_ ? (*shortcut_)(x, ctx) : x;
  return residual.to(ctx.residual()) + std::move(branch);
}

MapAttention::MapAttention(const Scope& s, std::int64_t dim, std::int64_t groups)
    : norm_(s / "group_norm", dim, groups),
      query_(Linear::torch(s / "to_q", dim, dim)),
      key_(Linear::torch(s / "to_k", dim, dim)),
      value_(Linear::torch(s / "to_v", dim, dim)),
      out_(Linear::torch(s / "to_out" / 0, dim, dim)) {}

Tensor MapAttention::operator()(const Tensor& x, const Context& ctx) const {
  const Tensor tokens = map_to_tokens(norm_(x)).to(ctx.activations);  // [B, N, C]
  const Tensor mixed = ops::attention(one_head(query_(tokens)), one_head(key_(tokens)),
                                      one_head(value_(tokens)));  // [B, 1, N, C]
  const Tensor y = out_(ops::reshape(mixed, tokens.shape()));
  return x + tokens_to_map(y, x.size(2), x.size(3)).to(x.dtype());
}

Tensor Upsample::operator()(const Tensor& x, const Context& ctx) const {
  return conv_(ops::upsample_nearest(x.to(ctx.activations), 2), ctx);
}

}  // namespace fovea
