// Frequencies of rotary positions, and the tables of their angles.
#include "models/layers/rotary_embedding.h"

#include <cmath>
#include <numbers>

#include "engine/autograd.h"
#include "engine/random.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr std::uint64_t kMovesStream = 0x726F7065;  // "rope"

/// temperature^(-j / count) for j = 0 ... count - 1.
std::vector<double> frequencies_of_axis(double temperature, std::int64_t count) {
  std::vector<double> frequencies;
  for (std::int64_t j = 0; j < count; ++j) {
    frequencies.push_back(
        std::pow(temperature, -static_cast<double>(j) / static_cast<double>(count)));
  }
  return frequencies;
}

}  // namespace

Init mixed_frequencies(const RotaryConfig& c) {
  return [c](const Tensor& parameter, RandomKey key) {
    const std::int64_t rows = c.depth * c.heads, quarter = c.width / 4;
    const std::vector<double> sizes = frequencies_of_axis(c.temperature, quarter);
    const Tensor turns = rand_uniform({rows}, {0, 2 * std::numbers::pi}, key);
    std::vector<double> values;
    for (const double across : {0.0, 0.5 * std::numbers::pi}) {  // cosines for x, sines for y
      for (std::int64_t row = 0; row < rows; ++row) {
        const double angle = turns.at(row) - across;
        for (const double size : sizes) values.push_back(size * std::cos(angle));
        for (const double size : sizes) values.push_back(-size * std::sin(angle));
      }
    }
    parameter.copy_(from_values(parameter.shape(), values, {DType::f64, {}}));
  };
}

RotaryEmbedding::RotaryEmbedding(const Scope& s, const RotaryConfig& c)
    : config_(c), device_(s.store().options().device) {
  if (c.kind == Rope::axial) fixed_ = axial();
  if (c.kind != Rope::mixed) return;
  freqs_ = s.param("freqs", {2, c.depth, c.heads, c.width / 2}, mixed_frequencies(c), Decay::no);
}

Positions RotaryEmbedding::operator()(Positions where, const Context& ctx) const {
  if (config_.kind == Rope::none) return where;
  where.rotation.prefix = where.grid.prefix;
  where.rotation.halves = config_.places.rope_rotate_half;
  where.rotary_tables = tables(where.grid.size, ctx);
  return where;
}

std::vector<Tensor> RotaryEmbedding::tables(GridSize size, const Context& ctx) const {
  const DType dtype = acc_dtype(ctx.activations);
  const ops::RotaryAxes& axes = axes_of(size);
  if (ctx.training) return compute(moved(axes, ctx), dtype);
  if (freqs_.defined() && needs_tape({freqs_})) return compute(axes, dtype);
  const std::uint64_t version = freqs_.defined() ? freqs_.version() : 0;
  const bool is_last = last_.size == size && last_.dtype == dtype && last_.version == version;
  if (!is_last || last_.tables.empty()) last_ = {size, dtype, version, compute(axes, dtype)};
  return last_.tables;
}

const ops::RotaryAxes& RotaryEmbedding::axes_of(GridSize size) const {
  const auto [axes, is_new] = axes_.try_emplace(size);
  if (is_new) {
    const auto [height, width] = config_.places.ref_feat_shape;
    axes->second = {coordinates(size[0], height), coordinates(size[1], width)};
  }
  return axes->second;
}

ops::RotaryAxes RotaryEmbedding::moved(const ops::RotaryAxes& axes, const Context& ctx) const {
  ops::CoordinateMoves moves = config_.moves;
  if (!moves.any()) return axes;
  moves.shift *= unit();
  const StepKey key = ctx.key_of_batch(kMovesStream);
  return {ops::moved_coordinates(axes.y, 0, key, moves),
          ops::moved_coordinates(axes.x, 1, key, moves)};
}

/// Angles, cosines and sines are f64; the tables are rounded once.
std::vector<Tensor> RotaryEmbedding::compute(const ops::RotaryAxes& axes, DType dtype) const {
  if (config_.kind == Rope::axial) return {ops::rotary_table(fixed_, axes).to(dtype)};
  std::vector<Tensor> tables;
  for (std::int64_t block = 0; block < config_.depth; ++block)
    tables.push_back(ops::rotary_table(mixed(block), axes).to(dtype));
  return tables;
}

/// What a coordinate of 1 is multiplied by.
double RotaryEmbedding::unit() const {
  return config_.places.rope_grid == RotaryGrid::centered ? 2 * std::numbers::pi : 1;
}

Tensor RotaryEmbedding::coordinates(std::int64_t count, std::int64_t reference) const {
  const RotaryPlaces& places = config_.places;
  const auto n = static_cast<double>(count);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double index = static_cast<double>(i) + places.rope_grid_offset;
    if (places.rope_grid == RotaryGrid::centered) {
      values.push_back(unit() * (2 * (index + 0.5) / n - 1));
    } else {
      values.push_back(reference > 0 ? index / n * static_cast<double>(reference) : index);
    }
  }
  return from_values({count}, values, {DType::f64, device_});
}

/// The first half of the pairs turns with the first axis.
ops::RotaryFrequencies RotaryEmbedding::axial() const {
  const std::int64_t quarter = config_.width / 4;
  std::vector<double> first = frequencies_of_axis(config_.temperature, quarter);
  std::vector<double> second(static_cast<std::size_t>(quarter), 0.0);
  second.insert(second.end(), first.begin(), first.end());
  first.resize(second.size(), 0.0);
  const auto tensor = [&](const std::vector<double>& values) {
    return from_values({1, 2 * quarter}, values, {DType::f64, device_});
  };
  return x_first() ? ops::RotaryFrequencies{tensor(second), tensor(first)}
                   : ops::RotaryFrequencies{tensor(first), tensor(second)};
}

ops::RotaryFrequencies RotaryEmbedding::mixed(std::int64_t block) const {
  const Tensor own = ops::select(freqs_, 1, block).to(DType::f64);  // [2, heads, width / 2]
  const Tensor first = ops::select(own, 0, 0), second = ops::select(own, 0, 1);
  return x_first() ? ops::RotaryFrequencies{second, first} : ops::RotaryFrequencies{first, second};
}

}  // namespace fovea
