// Norms and clipping over all gradients of a model; ops/update/gradients.cpp has the kernels.
#include "train/optim/gradients.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/base/lists.h"
#include "engine/copy.h"
#include "ops/update.h"

namespace fovea {
namespace {

/// Calls f(parameter, gradient) for each parameter, with contiguous gradients.
template <class F>
void for_each_gradient(const ParameterStore& store, const F& f) {
  const NoGrad no_grad;
  for (const Parameter& parameter : store.parameters()) {
    Tensor gradient = parameter.tensor.grad();
    if (!gradient.defined()) continue;
    if (!gradient.is_contiguous()) parameter.tensor.set_grad(gradient = gradient.contiguous());
    f(parameter, gradient);
  }
}

}  // namespace

Tensor gradient_squares(const ParameterStore& store) {
  const NoGrad no_grad;
  std::vector<Tensor> gradients;
  for (const Parameter& parameter : store.parameters()) {
    const Tensor gradient = parameter.tensor.grad();
    if (gradient.defined()) gradients.push_back(gradient);
  }
  return ops::sum_of_squares(gradients);
}

double gradient_norm(const ParameterStore& store) {
  return std::sqrt(gradient_squares(store).item());
}

GradientScale clip_gradients(const ParameterStore& store, const ClipOptions& options,
                             const GradientSize& size) {
  if (!options.limit) return {size.scale};
  const double limit = *options.limit;
  switch (options.mode) {
    case ClipMode::norm:
      if (size.norm) return {size.scale * clip_scale(*size.norm, limit)};
      return {size.scale, size.squares, limit};
    case ClipMode::value:
      clip_by_value(store, limit / size.scale);
      break;
    case ClipMode::agc:
      clip_adaptively(store, limit, size.scale);
      break;
  }
  return {size.scale};
}

double clip_scale(double norm, double limit) { return std::min(1.0, limit / (norm + kClipMargin)); }

void clip_by_value(const ParameterStore& store, double limit) {
  for_each_gradient(
      store, [&](const Parameter&, const Tensor& gradient) { ops::clip_values_(gradient, limit); });
}

void clip_adaptively(const ParameterStore& store, double factor, double scale) {
  for_each_gradient(store, [&](const Parameter& parameter, const Tensor& gradient) {
    if (is_head(parameter.role)) return;
    ops::clip_units_(gradient, parameter.tensor, factor, scale);
  });
}

void require_gradients(const ParameterStore& store,
                       const std::function<bool(const Parameter&)>& may_lack_one) {
  std::vector<std::string> missing;
  for (const Parameter& p : store.parameters()) {
    const bool lacks_one = p.tensor.requires_grad() && !p.tensor.grad().defined();
    if (lacks_one && !may_lack_one(p)) missing.push_back(p.name);
  }
  check(missing.empty(), "training: no gradient reached ", missing.size(),
        missing.size() == 1 ? " parameter: " : " parameters: ", first_few(missing, 8),
        "; is the graph cut somewhere?");
}

std::vector<std::string> parameters_with_bad_gradient(const ParameterStore& store) {
  std::vector<std::string> names;
  for (const Parameter& parameter : store.parameters()) {
    const Tensor gradient = parameter.tensor.grad();
    if (gradient.defined() && !all_finite(gradient)) names.push_back(parameter.name);
  }
  return names;
}

}  // namespace fovea
