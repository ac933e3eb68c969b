// Peripheral position encoding: relative positions, projections over them, initial values.
#include "models/layers/position_attention.h"

#include <cmath>

#include "engine/random.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/index.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr double kProjection = 0.02;  // c1 and c2 of equation 9
constexpr double kNormEps = 1e-5;     // matters by about 1 %: the variances are about 1e-3

/// A parameter, or a leaf without gradient if it is frozen.
Tensor leaf(const Scope& s, const PositionConfig& c, std::string_view name, const Shape& shape,
            const Init& init) {
  return c.ppe_frozen ? s.fixed(name, shape, init) : s.param(name, shape, init);
}

Init uniform_between(double low, double high) {
  return [low, high](const Tensor& parameter, RandomKey key) {
    parameter.copy_(rand_uniform(parameter.shape(), {low, high}, key));
  };
}

/// Initial weight of a projection: all entries equal, plus noise that distinguishes the channels.
Init projection(const PositionConfig& c, double value, std::int64_t fan_in) {
  if (c.ppe_init == PpeInit::rand) return torch_default(fan_in);
  if (c.ppe_init_noise == 0) return constant(value);
  return [value, noise = c.ppe_init_noise](const Tensor& parameter, RandomKey key) {
    parameter.copy_(rand_normal(parameter.shape(), {value, noise}, key));
  };
}

Init projection_bias(const PositionConfig& c, std::int64_t fan_in) {
  return c.ppe_init == PpeInit::rand ? torch_default(fan_in) : constant(0);
}

/// Entry `index` of linspace(first, last, count).
double linspace(double first, double last, std::array<std::int64_t, 2> index_of_count) {
  const auto [index, count] = index_of_count;
  if (count < 2) return first;
  return first + (last - first) * static_cast<double>(index) / static_cast<double>(count - 1);
}

/// Initial weight v and bias s of gn2: narrow and low in the first block, wide and high in the
/// last.
struct Affine {
  Init scale, shift;
};
Affine initial_gn2(const PositionConfig& c, std::array<std::int64_t, 2> index_of_depth) {
  switch (c.ppe_init) {
    case PpeInit::peripheral:
      return {constant(linspace(3, 0.01, index_of_depth)),
              constant(linspace(-5, 4, index_of_depth))};
    case PpeInit::conv:
      return {constant(3), constant(-5)};
    default:
      return {uniform_between(0, 1), uniform_between(-1, 1)};
  }
}

Affine initial_gn1(const PositionConfig& c) {
  if (c.ppe_init == PpeInit::rand) return {uniform_between(0, 1), uniform_between(-1, 1)};
  return {constant(1), constant(0)};
}

/// |k - q| for offsets -(n + p - 1) ... n + p - 1 along both axes, in coordinates with step 2 / (n
/// - 1).
Tensor distance_table(const PositionConfig& c, TensorOptions options) {
  const std::int64_t farthest = c.grid + c.padding() - 1, side = 2 * farthest + 1;
  const double step = 2 / static_cast<double>(c.grid - 1);
  std::vector<double> table;
  for (std::int64_t y = -farthest; y <= farthest; ++y) {
    for (std::int64_t x = -farthest; x <= farthest; ++x) {
      table.push_back(step * std::hypot(static_cast<double>(y), static_cast<double>(x)));
    }
  }
  return from_values({1, 1, side, side}, table, options);
}

/// Index of the offset j - i for query i and key j of its window, along one axis.
Tensor offset_positions(std::int64_t grid, std::int64_t window, Device device) {
  std::vector<double> positions;
  for (std::int64_t i = 0; i < grid; ++i) {
    for (std::int64_t j = 0; j < window; ++j) {
      positions.push_back(static_cast<double>(grid - 1 - i + j));
    }
  }
  return from_values({grid * window}, positions, {DType::i64, device});
}

}  // namespace

RelativeEncoding::RelativeEncoding(const Scope& s, const PositionConfig& c)
    : grid_(c.grid), window_(c.window()) {
  const std::int64_t C = c.channels(), P = c.padded();
  if (c.ppe_embed == PpeEmbed::lrn) {
    const Scope place = s.over({{c.grid, c.grid}});  // the grid with its padding
    parameters_ = {leaf(place, c, "rpe_vec", {P, P, C}, trunc_normal(0.02))};
    return;
  }
  const Scope proj = s / "rpe_proj";
  parameters_ = {leaf(proj, c, "weight", {C, 1}, projection(c, -kProjection, 1)),
                 leaf(proj, c, "bias", {C}, projection_bias(c, 1))};
  distances_ = distance_table(c, parameters_[0].options());
  positions_ = offset_positions(grid_, window_, parameters_[0].device());
}

Tensor RelativeEncoding::project(const Tensor& weight, const Tensor& bias) const {
  if (distances_.defined()) return project_distances(weight, bias);
  const Tensor v = ops::permute(parameters_[0], {2, 0, 1});  // [4H, P, P]
  return ops::conv2d(ops::unsqueeze(v, 0), weight, bias);    // [1, O, m, m]
}

/// sum_c W[o, c] (w_c |k - q| + b_c) = (sum_c W[o, c] w_c) |k - q| + constant is one channel and
/// depends on k - q alone. So the convolution runs once over all offsets, and each query reads its
/// window of the result.
Tensor RelativeEncoding::project_distances(const Tensor& weight, const Tensor& bias) const {
  const std::int64_t C = weight.size(1), O = weight.size(0), n = grid_, m = window_;
  const Tensor w = ops::reshape(parameters_[0], {C, 1, 1}),
               b = ops::reshape(parameters_[1], {C, 1, 1});
  const Tensor kernel = ops::sum(weight * w, {1}, true);          // [O, 1, K, K]
  const Tensor shift = ops::sum(weight * b, {1, 2, 3}) + bias;    // [O]
  const Tensor offsets = ops::conv2d(distances_, kernel, shift);  // [1, O, S, S]
  const Tensor rows = ops::index_select(offsets, 2, positions_);  // [1, O, n m, S]
  const Tensor windows = ops::index_select(rows, 3, positions_);  // [1, O, n m, n m]
  const Tensor by_query = ops::permute(ops::reshape(windows, {O, n, m, n, m}), {1, 3, 0, 2, 4});
  return ops::reshape(by_query, {n * n, O, m, m});
}

PositionAttention::PositionAttention(const Scope& s, const PositionConfig& c,
                                     const RelativeEncoding& relative,
                                     std::array<std::int64_t, 2> index_of_depth)
    : relative_(relative), layers_(static_cast<std::size_t>(c.ppe_layers)), once_({}) {
  const std::int64_t C = c.channels(), K = c.ppe_kernel, H = c.num_heads;
  const auto make_convolution = [&](Layer& layer, std::string_view name, std::int64_t out) {
    const std::int64_t fan_in = C * K * K;
    layer.weight = leaf(s / name, c, "weight", {out, C, K, K}, projection(c, kProjection, fan_in));
    layer.bias = leaf(s / name, c, "bias", {out}, projection_bias(c, fan_in));
  };
  const auto make_norm = [&](Layer& layer, std::string_view name, const Affine& init) {
    layer.scale = leaf(s / name, c, "weight", layer.bias.shape(), init.scale);
    layer.shift = leaf(s / name, c, "bias", layer.bias.shape(), init.shift);
  };
  const bool two = c.ppe_layers == 2;
  if (two) make_convolution(layers_.front(), "conv1", C);
  make_convolution(layers_.back(), "conv2", H);
  if (two) make_norm(layers_.front(), "gn1", initial_gn1(c));
  make_norm(layers_.back(), "gn2", initial_gn2(c, index_of_depth));
  once_ = OncePerStep(all_parameters());
}

std::vector<Tensor> PositionAttention::all_parameters() const {
  std::vector<Tensor> all = relative_.parameters();
  for (const Layer& l : layers_) all.insert(all.end(), {l.weight, l.bias, l.scale, l.shift});
  return all;
}

Tensor PositionAttention::operator()() {
  return once_.get([this] { return compute(); });
}

Tensor PositionAttention::compute() const {
  const Layer& first = layers_.front();
  Tensor x = relative_.project(first.weight, first.bias);  // [Q, O, m, m]
  x = ops::instance_norm(x, first.scale, first.shift, kNormEps);
  if (layers_.size() == 2) {
    const Layer& second = layers_.back();
    x = ops::conv2d(ops::relu(x), second.weight, second.bias);  // [Q, H, n, n]
    x = ops::instance_norm(x, second.scale, second.shift, kNormEps);
  }
  x = ops::reshape(x, {x.size(0), x.size(1), -1});  // [Q, H, N]
  // log sigmoid(x) instead of sigmoid(x): Phi_c Phi_p, normalised over keys, is softmax(s + log
  // Phi_p).
  return ops::logsigmoid(ops::permute(x, {1, 0, 2})).contiguous();  // [H, Q, N]
}

std::int64_t position_attention_parameters(const ParameterStore& store) {
  std::int64_t count = 0;
  for (const Parameter& p : store.parameters()) {
    const bool is_distance = p.name.starts_with("rpe_proj.") || p.name == "rpe_vec";
    if (is_distance || p.name.find(".attn.activation.") != std::string::npos) {
      count += p.tensor.numel();
    }
  }
  return count;
}

}  // namespace fovea
