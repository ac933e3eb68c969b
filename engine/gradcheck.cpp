// Central differences against the tape.
#include "engine/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/autograd.h"
#include "engine/strided.h"

namespace fovea {
namespace {

double weighted_sum(const Tensor& y, const std::vector<double>& w) {
  const std::vector<double> values = y.to_vector();
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * values[i];
  return sum;
}

/// d<w, f>/d(input[flat]) from four values, leaving the input as it was.
double central_difference(const TensorFn& f, const std::vector<Tensor>& inputs, const Tensor& input,
                          std::int64_t flat, const std::vector<double>& w, double step) {
  const NoGrad no_grad;
  double& entry = input.data<double>()[offset_at(input.shape(), input.strides(), flat)];
  const double x = entry, h = step * std::max(1.0, std::abs(x));
  const auto value_at = [&](double at) {
    entry = at;
    input.bump_version();  // what was computed from the input is not valid any more
    return weighted_sum(f(inputs), w);
  };
  const double near = value_at(x + h) - value_at(x - h);
  const double far = value_at(x + 2 * h) - value_at(x - 2 * h);
  entry = x;
  input.bump_version();
  return (8 * near - far) / (12 * h);
}

void compare(const Tensor& input, std::size_t index, const std::vector<double>& numeric,
             GradcheckOptions options, GradcheckResult& result) {
  const std::vector<double> analytic =
      input.grad().defined() ? input.grad().to_vector() : std::vector<double>(numeric.size());
  double largest = 0;
  for (const double n : numeric) largest = std::max(largest, std::abs(n));
  for (std::size_t k = 0; k < numeric.size(); ++k) {
    const double scale = std::max({std::abs(numeric[k]), 1e-3 * largest, 1e-6});
    const double error = std::abs(analytic[k] - numeric[k]) / scale;
    ++result.entries;
    if (error <= result.worst) continue;  // a NaN error is not <=
    result.worst = std::isnan(error) ? INFINITY : error;
    std::ostringstream message;
    message << "input " << index << " entry " << k << ": derivative " << analytic[k]
            << ", central difference " << numeric[k];
    result.message = message.str();
  }
  result.ok = result.worst <= options.tolerance;
}

}  // namespace

GradcheckResult gradcheck(const TensorFn& f, const std::vector<Tensor>& inputs,
                          GradcheckOptions options) {
  GradcheckResult result;
  for (const Tensor& input : inputs) {
    check(!input.requires_grad() || input.dtype() == DType::f64,
          "gradcheck: inputs that require a gradient must be f64, got ", to_string(input.dtype()));
    input.set_grad({});
  }
  const Tensor y = f(inputs);
  const Tensor cotangent = rand_normal(y.shape(), {0, 1}, {options.seed}, {DType::f64, {}});
  const std::vector<double> w = cotangent.to_vector();
  if (y.requires_grad()) backward(y, cotangent);
  if (options.after_backward) options.after_backward();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    std::vector<double> numeric(static_cast<std::size_t>(inputs[i].numel()));
    for (std::size_t k = 0; k < numeric.size(); ++k) {
      numeric[k] =
          central_difference(f, inputs, inputs[i], static_cast<std::int64_t>(k), w, options.step);
    }
    compare(inputs[i], i, numeric, options, result);
  }
  return result;
}

}  // namespace fovea
