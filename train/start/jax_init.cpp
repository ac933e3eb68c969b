// --init jax: the initial values of the original ViT as in timm. Linear layers: xavier over the
// whole matrix (q, k and v as one), biases 0, in the MLP N(1e-6). Patch projection: LeCun normal.
// Tokens: N(1e-6). Heads: 0. Position embeddings, norms and PEGs keep their default initial values.
#include "train/start/jax_init.h"

#include <cmath>

#include "engine/autograd.h"
#include "engine/base/fields.h"
#include "models/checkpoints/pretrained.h"

namespace fovea {
namespace {

constexpr std::uint64_t kJaxStream = 0x6A6178;  // "jax"

/// Normal, truncated at two deviations, with variance 1 / fan_in after truncation.
Init lecun_normal(std::int64_t fan_in) {
  constexpr double kDeviationOfCut = 0.87962566103423978;  // of a unit normal truncated at -2 and 2
  const double deviation = std::sqrt(1 / static_cast<double>(fan_in)) / kDeviationOfCut;
  return [deviation](const Tensor& parameter, RandomKey key) {
    Rng rng(key.seed, key.stream);
    std::vector<double> values(static_cast<std::size_t>(parameter.numel()));
    for (double& value : values) {
      do value = rng.normal();
      while (std::abs(value) > 2);
      value *= deviation;
    }
    parameter.copy_(from_values(parameter.shape(), values));
  };
}

/// Initial values of a parameter; empty: unchanged.
Init jax_init(Role role, const Shape& shape) {
  const bool bias = shape.rank() == 1;
  switch (role) {
    case Role::head:
    case Role::distillation_head:
    case Role::output:
      return constant(0);
    case Role::token:
    case Role::distillation_token:
    case Role::register_token:
      return normal(1e-6);
    case Role::patches:
      return bias ? constant(0) : lecun_normal(shape.numel() / shape[0]);
    case Role::attention:
      return bias ? constant(0) : xavier(shape[1], shape[0]);
    case Role::mlp:
      return bias ? normal(1e-6) : xavier(shape[1], shape[0]);
    default:
      return {};
  }
}

}  // namespace

void initialise_as_jax(const Model& model, std::uint64_t seed) {
  if (!model.store().find(Role::attention).defined()) {
    throw UsageError("--init jax: supports ViT, DeiT, CPVT and PiT, got " + model.info().name);
  }
  const NoGrad no_grad;
  std::uint64_t index = 0;
  for (const Parameter& p : model.store().parameters()) {
    const Init init = jax_init(p.role, p.tensor.shape());
    if (init) init(p.tensor, {seed, stream_of(kJaxStream, index)});
    ++index;
  }
}

}  // namespace fovea
