// PEG: the depthwise kind is one op on tokens, the other kinds are composed of convolutions.
#include "models/layers/peg.h"

#include <cmath>

#include "models/layers/tokens.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Makes the parameters of a convolution, without weight decay. Frozen ones are not trained.
struct Maker {
  const PegConfig& config;
  Scope scope;

  void make(const Shape& shape, Tensor& weight, Tensor& bias) const {
    const std::int64_t fan_in = shape[1] * shape[2] * shape[3];  // = fan_out / (groups = D or 1)
    const bool torch = config.init == PegInit::torch;
    const double deviation = std::sqrt(2 / static_cast<double>(fan_in));
    weight = add("weight", shape, torch ? torch_default(fan_in) : normal(deviation));
    bias = add("bias", {shape[0]}, torch ? torch_default(fan_in) : constant(0));
  }
  [[nodiscard]] Tensor add(const char* name, const Shape& shape, const Init& init) const {
    if (config.frozen) return scope.fixed(name, shape, init);
    return scope.param(name, shape, init, Decay::no);
  }
};

}  // namespace

TokenGrid PegConfig::output(TokenGrid grid) const {
  if (padding == PegPadding::none) {
    for (std::int64_t& side : grid.size) side -= 2 * margin();
  }
  return grid;
}

Peg::Peg(const Scope& s, const PegConfig& c, std::int64_t dim) : config_(c) {
  const std::int64_t in = c.conv == PegConv::full ? dim : 1;
  Maker{c, s / "proj" / 0}.make({dim, in, c.kernel, c.kernel}, weight_, bias_);
  if (c.conv != PegConv::separable) return;
  Maker{c, s / "proj" / 1}.make({dim, dim, 1, 1}, point_weight_, point_bias_);
}

Tensor Peg::operator()(const Tensor& x, const TokenGrid& grid) const {
  const std::int64_t padding = config_.padding == PegPadding::zero ? config_.margin() : 0;
  if (config_.conv == PegConv::depthwise) {
    return ops::depthwise_tokens(x, weight_, bias_,
                                 {grid.size, grid.prefix, padding, config_.residual});
  }
  const Tensor f = ops::slice(x, 1, grid.prefix, x.size(1));  // [B, N, D]
  Tensor y = convolve(f, grid);                               // [B, N', D]
  if (config_.residual) y = y + crop(f, grid);                // [B, N', D]
  if (grid.prefix == 0) return y;
  return ops::cat({ops::slice(x, 1, 0, grid.prefix), y}, 1);  // [B, P + N', D]
}

/// Convolves f [B, N, D] -> [B, N', D], for all kinds.
Tensor Peg::convolve(const Tensor& f, const TokenGrid& grid) const {
  const std::int64_t padding = config_.padding == PegPadding::zero ? config_.margin() : 0;
  const std::int64_t D = f.size(2);
  if (config_.conv == PegConv::separable) {
    const Tensor y = ops::depthwise_tokens(f, weight_, bias_, {grid.size, 0, padding, false});
    return ops::linear(y, ops::reshape(point_weight_, {D, D}), point_bias_);  // a 1x1 convolution
  }
  const Tensor map = tokens_to_map(f, grid.size[0], grid.size[1]);  // [B, D, gh, gw]
  return map_to_tokens(ops::conv2d(map, weight_, bias_, {.padding = {padding, padding}}));
}

/// The tokens of f with windows entirely inside the grid: [B, N, D] -> [B, N', D].
Tensor Peg::crop(const Tensor& f, const TokenGrid& grid) const {
  if (config_.padding == PegPadding::zero) return f;
  const auto [height, width] = grid.size;
  const std::int64_t m = config_.margin();
  const Tensor map = ops::reshape(f, {f.size(0), height, width, f.size(2)});  // [B, gh, gw, D]
  const Tensor inner = ops::slice(ops::slice(map, 1, m, height - m), 2, m, width - m);
  return ops::reshape(inner, {f.size(0), -1, f.size(2)});
}

}  // namespace fovea
