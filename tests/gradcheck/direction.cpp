// Central differences along one direction against the tape.
#include "tests/gradcheck/direction.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/autograd.h"
#include "engine/random.h"
#include "engine/rng.h"
#include "ops/arithmetic.h"

namespace fovea::tests {
namespace {

double inner(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// An input, where it was, and the way it is moved.
struct Moved {
  Tensor input, origin, direction;

  void to(double distance) const { input.copy_(origin + distance * direction); }
};

std::vector<Moved> moved_inputs(const std::vector<Tensor>& inputs, std::uint64_t seed) {
  std::vector<Moved> moved;
  for (const Tensor& input : inputs) {
    if (!input.requires_grad()) continue;
    const Tensor direction =
        rand_normal(input.shape(), {0, 1}, {seed + 1, moved.size()}, input.options());
    moved.push_back({input, input.clone(), direction});
  }
  return moved;
}

}  // namespace

GradcheckResult check_direction(const TensorFn& f, const std::vector<Tensor>& inputs,
                                const GradcheckOptions& options) {
  for (const Tensor& input : inputs) input.set_grad({});
  const Tensor y = f(inputs);
  const Tensor cotangent = rand_normal(y.shape(), {0, 1}, {options.seed}, y.options());
  backward(y, cotangent);
  if (options.after_backward) options.after_backward();

  const NoGrad no_grad;
  const std::vector<Moved> moved = moved_inputs(inputs, options.seed);
  double analytic = 0;
  for (const Moved& m : moved) {
    if (m.input.grad().defined()) analytic += inner(m.input.grad(), m.direction);
  }
  const auto value_at = [&](double distance) {
    for (const Moved& m : moved) m.to(distance);
    return inner(f(inputs), cotangent);
  };
  const double h = options.step;
  const double near = value_at(h) - value_at(-h), far = value_at(2 * h) - value_at(-2 * h);
  const double numeric = (8 * near - far) / (12 * h);
  for (const Moved& m : moved) m.to(0);

  GradcheckResult result;
  result.entries = 1;
  result.worst = std::abs(analytic - numeric) / std::max(std::abs(numeric), 1e-6);
  if (std::isnan(result.worst)) result.worst = INFINITY;
  result.ok = result.worst <= options.tolerance;
  std::ostringstream message;
  message << "along a random direction: derivative " << analytic << ", central difference "
          << numeric;
  result.message = message.str();
  return result;
}

}  // namespace fovea::tests
