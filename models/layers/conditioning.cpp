// Embeddings of time steps and classes.
#include "models/layers/conditioning.h"

#include <cmath>

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr std::int64_t kFrequencies = 128;

Tensor frequencies(Device device) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < kFrequencies; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kFrequencies);
    values.push_back(std::exp(-std::log(10000.0) * share));
  }
  return from_values({kFrequencies}, values, {DType::f64, device});
}

}  // namespace

TimestepEmbedding::TimestepEmbedding(const Scope& s, std::int64_t dim)
    : fc1_(s / "mlp" / 0, 2 * kFrequencies, dim, normal(0.02), constant(0)),
      fc2_(s / "mlp" / 2, dim, dim, normal(0.02), constant(0)),
      frequencies_(frequencies(fc1_.weight().device())) {}

Tensor TimestepEmbedding::operator()(const Tensor& t, const Context& ctx) const {
  const Tensor angles = ops::reshape(t.to(DType::f64), {t.size(0), 1}) * frequencies_;
  const Tensor waves = ops::cat({ops::cos(angles), ops::sin(angles)}, 1);  // [B, 256]
  return fc2_(ops::silu(fc1_(waves.to(ctx.residual()))));
}

LabelEmbedding::LabelEmbedding(const Scope& s, std::int64_t num_classes, bool has_null,
                               std::int64_t dim)
    : table_((s / "embedding_table")
                 .param("weight", {num_classes + (has_null ? 1 : 0), dim}, normal(0.02))) {}

Tensor LabelEmbedding::operator()(const Tensor& y, const Context& ctx) const {
  return ops::embedding(table_, y).to(ctx.residual());
}

}  // namespace fovea
