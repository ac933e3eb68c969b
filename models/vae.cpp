// Encoder and decoder of AutoencoderKL, with diffusers' names.
#include "models/vae.h"

#include <algorithm>

#include "engine/random.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr std::int64_t kOutputs = 3;  // channels of decoded images
constexpr double kMinLogVariance = -30, kMaxLogVariance = 20;

std::int64_t last_width(const VaeConfig& c) { return c.block_out_channels.back(); }

/// `count` residual blocks from `in` to `out` channels.
std::vector<ConvResidualBlock> make_blocks(const Scope& s, std::int64_t count, std::int64_t in,
                                           std::int64_t out, std::int64_t groups) {
  std::vector<ConvResidualBlock> blocks;
  for (std::int64_t i = 0; i < count; ++i) {
    blocks.emplace_back(s / "resnets" / i, i == 0 ? in : out, out, groups);
  }
  return blocks;
}

/// Levels of these widths, after a convolution of width `in`.
template <class Level>
std::vector<Level> make_levels(const Scope& s, const char* change, const VaeConfig& c,
                               std::int64_t blocks, std::int64_t in,
                               const std::vector<std::int64_t>& widths) {
  std::vector<Level> levels(widths.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const Scope place = s / static_cast<std::int64_t>(i);
    levels[i].blocks = make_blocks(place, blocks, in, widths[i], c.norm_num_groups);
    if (i + 1 < widths.size()) levels[i].change.emplace(place / change / 0, widths[i]);
    in = widths[i];
  }
  return levels;
}

template <class Level>
Tensor through(const std::vector<Level>& levels, Tensor x, const Context& ctx) {
  for (const Level& level : levels) {
    for (const ConvResidualBlock& block : level.blocks) x = block(x, ctx);
    if (level.change) x = (*level.change)(x, ctx).to(ctx.residual());
  }
  return x;
}

}  // namespace

Tensor mean_of_moments(const Tensor& moments) {
  return ops::slice(moments, 1, 0, moments.size(1) / 2);
}

Tensor log_variance_of_moments(const Tensor& moments) {
  return ops::slice(moments, 1, moments.size(1) / 2, moments.size(1));
}

Tensor draw_latents(const Tensor& moments, const Tensor& noise) {
  return mean_of_moments(moments) + ops::exp(log_variance_of_moments(moments) * 0.5) * noise;
}

Tensor reconstruction_error(const Tensor& images, const Tensor& output) {
  const DType wide = acc_dtype(output.dtype());
  return ops::mean(ops::abs(images.to(wide) - output.to(wide)));
}

Tensor latent_divergence(const Tensor& moments) {
  const Tensor wide = moments.to(acc_dtype(moments.dtype()));
  const Tensor mean = mean_of_moments(wide), log_variance = log_variance_of_moments(wide);
  const Tensor terms = mean * mean + ops::exp(log_variance) - log_variance - 1;
  return ops::sum(terms) * (0.5 / static_cast<double>(moments.size(0)));
}

Vae::Middle::Middle(const Scope& s, std::int64_t dim, std::int64_t groups)
    : first(s / "resnets" / 0, dim, dim, groups),
      attention(s / "attentions" / 0, dim, groups),
      second(s / "resnets" / 1, dim, dim, groups) {}

Tensor Vae::Middle::operator()(const Tensor& x, const Context& ctx) const {
  return second(attention(first(x, ctx), ctx), ctx);
}

Vae::Encoder::Encoder(const Scope& s, const VaeConfig& c)
    : conv_in(s / "conv_in", c.in_channels, c.block_out_channels.front()),
      levels(make_levels<Level<Downsample>>(s / "down_blocks", "downsamplers", c,
                                            c.layers_per_block, c.block_out_channels.front(),
                                            c.block_out_channels)),
      middle(s / "mid_block", last_width(c), c.norm_num_groups),
      norm(s / "conv_norm_out", last_width(c), c.norm_num_groups),
      conv_out(s / "conv_out", last_width(c), 2 * c.latent_channels) {}

Tensor Vae::Encoder::operator()(const Tensor& images, const Context& ctx) const {
  const Tensor x = through(levels, conv_in(images, ctx).to(ctx.residual()), ctx);
  return conv_out(norm.silu(middle(x, ctx)), ctx);
}

Vae::Decoder::Decoder(const Scope& s, const VaeConfig& c)
    : conv_in(s / "conv_in", c.latent_channels, last_width(c)),
      middle(s / "mid_block", last_width(c), c.norm_num_groups),
      levels(make_levels<Level<Upsample>>(
          s / "up_blocks", "upsamplers", c, c.layers_per_block + 1, last_width(c),
          {c.block_out_channels.rbegin(), c.block_out_channels.rend()})),
      norm(s / "conv_norm_out", c.block_out_channels.front(), c.norm_num_groups),
      conv_out(s / "conv_out", c.block_out_channels.front(), kOutputs) {}

Tensor Vae::Decoder::operator()(const Tensor& latents, const Context& ctx) const {
  const Tensor x = middle(conv_in(latents, ctx).to(ctx.residual()), ctx);
  return conv_out(norm.silu(through(levels, x, ctx)), ctx);
}

Vae::Vae(ModelInfo info, const VaeConfig& c, std::uint64_t seed, TensorOptions options)
    : Model(std::move(info), seed, options),
      config_(c),
      encoder_(at("encoder"), c),
      quant_(at("quant_conv"), 2 * c.latent_channels, 2 * c.latent_channels, 1),
      post_quant_(top().decoder() / "post_quant_conv", c.latent_channels, c.latent_channels, 1),
      decoder_(top().decoder() / "decoder", c) {}

Tensor Vae::probe(const Tensor& images, Context& ctx) {
  const Tensor m = moments(images, ctx);
  const Shape shape{m.size(0), config_.latent_channels, m.size(2), m.size(3)};
  const Tensor noise = rand_normal(shape, {0, 1}, ctx.next_key().now(), {m.dtype(), m.device()});
  return decode(draw_latents(m, noise), ctx);
}

Tensor Vae::moments(const Tensor& images, const Context& ctx) const {
  const std::int64_t f = config_.factor();
  check(images.rank() == 4 && images.size(1) == config_.in_channels && images.size(2) > 0 &&
            images.size(3) > 0 && images.size(2) % f == 0 && images.size(3) % f == 0,
        info().name, ": got images ", images.shape(), ", expected [B, ", config_.in_channels,
        ", H, W] with H and W divisible by ", f);
  const Tensor m = quant_(encoder_(images, ctx), ctx).to(ctx.residual());
  return ops::cat({mean_of_moments(m),
                   ops::clamp(log_variance_of_moments(m), kMinLogVariance, kMaxLogVariance)},
                  1);
}

Tensor Vae::decode(const Tensor& latents, const Context& ctx) const {
  check(latents.rank() == 4 && latents.size(1) == config_.latent_channels, info().name,
        ": got latents ", latents.shape(), ", expected [B, ", config_.latent_channels, ", h, w]");
  return decoder_(post_quant_(latents, ctx), ctx);
}

}  // namespace fovea
