// Stages and forward pass of the residual network.
#include "models/resnet.h"

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/pool.h"

namespace fovea {
namespace {

constexpr std::int64_t kExpansion = 4;  ///< width of a block's output divided by `planes`

ConvNorm square(const Scope& block, const char* index, const ConvNormConfig& c) {
  return {block / (std::string("conv") + index), block / (std::string("bn") + index), c};
}

std::optional<ConvNorm> make_downsample(const Scope& s, const BottleneckConfig& c) {
  const std::int64_t out = kExpansion * c.planes;
  if (c.stride == 1 && c.in == out) return {};
  return ConvNorm(s / 0, s / 1,
                  {.in = c.in,
                   .out = out,
                   .options = {.stride = {c.stride, c.stride}},
                   .norm = c.norm,
                   .trained = c.trained});
}

/// The blocks of all stages. Stages from the second on halve the map; a dilated last stage does
/// not: its first block keeps the filters of the stage before, the others reach twice as far.
std::vector<Bottleneck> make_stages(const Scope& s, const ResNetConfig& c) {
  std::vector<Bottleneck> blocks;
  std::int64_t in = c.stem;
  for (std::size_t stage = 0; stage < c.planes.size(); ++stage) {
    const bool dilated = c.dilation && stage + 1 == c.planes.size();
    const Scope at = s / ("layer" + std::to_string(stage + 1));
    for (std::int64_t i = 0; i < c.blocks[stage]; ++i) {
      const bool halves = i == 0 && stage > 0 && !dilated;
      blocks.emplace_back(at / i, BottleneckConfig{.in = in,
                                                   .planes = c.planes[stage],
                                                   .stride = halves ? 2 : 1,
                                                   .dilation = dilated && i > 0 ? 2 : 1,
                                                   .norm = c.norm,
                                                   .trained = stage > 0 || c.train_stem});
      in = kExpansion * c.planes[stage];
    }
  }
  return blocks;
}

}  // namespace

std::array<std::int64_t, 2> ResNetConfig::map_size(std::array<std::int64_t, 2> image) const {
  // The first convolution, the pooling and each halving stage make n pixels ceil(n / 2).
  const auto halvings = 1 + static_cast<int>(planes.size()) - (dilation ? 1 : 0);
  for (std::int64_t& side : image) {
    for (int i = 0; i < halvings; ++i) side = (side + 1) / 2;
  }
  return image;
}

Bottleneck::Bottleneck(const Scope& s, const BottleneckConfig& c)
    : conv1_(square(s, "1", {.in = c.in, .out = c.planes, .norm = c.norm, .trained = c.trained})),
      conv2_(square(s, "2",
                    {.in = c.planes,
                     .out = c.planes,
                     .kernel = 3,
                     .options = {.stride = {c.stride, c.stride},
                                 .padding = {c.dilation, c.dilation},
                                 .dilation = {c.dilation, c.dilation}},
                     .norm = c.norm,
                     .trained = c.trained})),
      conv3_(square(
          s, "3",
          {.in = c.planes, .out = kExpansion * c.planes, .norm = c.norm, .trained = c.trained})),
      downsample_(make_downsample(s / "downsample", c)) {}

Tensor Bottleneck::operator()(const Tensor& x, const Context& ctx) const {
  Tensor branch = x.to(ctx.activations);  // one name: without a tape each input is freed
  const Tensor shortcut = downsample_ ? downsample_->plus(branch, {}, ctx) : x;
  branch = conv1_.relu(branch, ctx);
  branch = conv2_.relu(branch, ctx);
  return ops::relu(conv3_.plus(branch, shortcut, ctx));
}

ResNet::ResNet(const Scope& s, const ResNetConfig& c)
    : conv1_(square(s, "1",
                    {.in = c.in_chans,
                     .out = c.stem,
                     .kernel = 7,
                     .options = {.stride = {2, 2}, .padding = {3, 3}},
                     .norm = c.norm,
                     .trained = c.train_stem})),
      blocks_(make_stages(s, c)) {}

Tensor ResNet::operator()(const Tensor& images, const Context& ctx) const {
  Tensor x = conv1_.relu(images.to(ctx.activations), ctx);  // [B, C, H / 2, W / 2]
  x = ops::max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  for (const Bottleneck& block : blocks_) x = block(x, ctx);
  return x;
}

}  // namespace fovea
