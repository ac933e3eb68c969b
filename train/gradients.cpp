// Sums of squares are taken over fixed blocks and added in their order, so that the norm does not
// depend on the number of threads.
#include "train/gradients.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

/// Eight partial sums, so that the loop vectorises without reordering anything.
template <class T>
double sum_of_squares(const T* values, std::int64_t count) {
  constexpr std::int64_t kLanes = 8;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      const auto value = static_cast<double>(values[i + k]);
      lanes[k] += value * value;
    }
  }
  for (; i < count; ++i)
    lanes[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

double sum_of_squares(const Tensor& gradient) {
  constexpr std::int64_t kBlock = 1 << 15;
  const Tensor dense = gradient.contiguous();
  const std::int64_t n = dense.numel();
  std::vector<double> partial(static_cast<std::size_t>((n + kBlock - 1) / kBlock));
  dispatch_float(dense.dtype(), "gradient_norm", [&](auto zero) {
    const auto* const values = dense.data<decltype(zero)>();
    parallel_for(n, kBlock, [&](std::int64_t begin, std::int64_t end) {
      partial[static_cast<std::size_t>(begin / kBlock)] =
          sum_of_squares(values + begin, end - begin);
    });
  });
  double sum = 0;
  for (const double part : partial) sum += part;
  return sum;
}

}  // namespace

double gradient_norm(const ParameterStore& store) {
  const NoGrad no_grad;
  double sum = 0;
  for (const Parameter& parameter : store.parameters()) {
    const Tensor gradient = parameter.tensor.grad();
    if (gradient.defined()) sum += sum_of_squares(gradient);
  }
  return std::sqrt(sum);
}

double clip_scale(double norm, double limit) { return std::min(1.0, limit / (norm + 1e-6)); }

std::vector<std::string> parameters_without_gradient(const ParameterStore& store) {
  std::vector<std::string> names;
  for (const Parameter& parameter : store.parameters()) {
    if (parameter.tensor.requires_grad() && !parameter.tensor.grad().defined()) {
      names.push_back(parameter.name);
    }
  }
  return names;
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
