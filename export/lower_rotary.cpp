// Lowering of rotary positions: x cos + swap(x) sin for constants of each token and channel, where
// swap exchanges the two channels of each pair.
#include "export/lower_rotary.h"

namespace fovea::onnx {
namespace {

/// The table [2, G, R, P] of a rotation, and which channels are pairs.
struct RotaryTable {
  Tensor values;
  std::int64_t prefix;
  bool halves;

  [[nodiscard]] std::int64_t groups() const { return values.size(1); }
  [[nodiscard]] std::int64_t pairs() const { return values.size(3); }
  [[nodiscard]] std::int64_t width() const { return 2 * pairs(); }
  /// The pair of a channel, and whether it is the second one of the pair.
  [[nodiscard]] std::int64_t pair_of(std::int64_t channel) const {
    return halves ? channel % pairs() : channel / 2;
  }
  [[nodiscard]] bool is_second(std::int64_t channel) const {
    return halves ? channel >= pairs() : channel % 2 == 1;
  }
  /// Cosine (part 0) or sine (part 1) of a pair of a token after the prefix.
  [[nodiscard]] float at(std::int64_t part, std::int64_t group, std::int64_t row,
                         std::int64_t pair) const {
    const std::int64_t rows = values.size(2);
    return values.data<float>()[((part * groups() + group) * rows + row) * pairs() + pair];
  }
};

/// The factors of x and of swap(x), [1, G, tokens, D]: a cos t - b sin t, b cos t + a sin t. Tokens
/// of the prefix have 1 and 0.
std::array<Tensor, 2> factors_of(const RotaryTable& table, std::int64_t tokens) {
  const Shape shape{1, table.groups(), tokens, table.width()};
  std::array<Tensor, 2> factors{ones(shape), zeros(shape)};
  auto *own = factors[0].data<float>(), *other = factors[1].data<float>();
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const std::int64_t channel = i % table.width(), token = i / table.width() % tokens;
    const std::int64_t group = i / table.width() / tokens, row = token - table.prefix;
    if (row < 0) continue;
    const std::int64_t pair = table.pair_of(channel);
    const float sine = table.at(1, group, row, pair);
    own[i] = table.at(0, group, row, pair);
    other[i] = table.is_second(channel) ? sine : -sine;
  }
  return factors;
}

/// The other channel of each channel's pair.
Tensor swapped_channels(const RotaryTable& table) {
  const Tensor channels = zeros({table.width()}, {DType::i64, {}});
  for (std::int64_t c = 0; c < table.width(); ++c) {
    const std::int64_t step = table.halves ? table.pairs() : 1;
    channels.data<std::int64_t>()[c] = table.is_second(c) ? c - step : c + step;
  }
  return channels;
}

}  // namespace

std::string rotated(const Call& c, const std::string& x, std::int64_t tokens, int table) {
  if (!c.has(table)) return x;
  check(!c.has(table + 1), "export: rotary positions of tokens that differ for each image");
  const RotaryTable angles{c.constant(table).to(DType::f32).contiguous(), c.integer("prefix"),
                           c.integer("halves") != 0};
  const auto [own, other] = factors_of(angles, tokens);
  GraphWriter& w = c.writer();
  const std::string swapped =
      c.node("Gather", {x, w.constant("rotary_pairs", swapped_channels(angles))},
             {{"axis", std::int64_t{3}}});
  return c.node("Add", {c.node("Mul", {x, w.constant("rotary_cosines", own)}),
                        c.node("Mul", {swapped, w.constant("rotary_sines", other)})});
}

}  // namespace fovea::onnx
