// Central differences against the tape.
#include "engine/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>
#include <utility>

#include "engine/autograd.h"
#include "engine/random.h"
#include "engine/rng.h"
#include "engine/strided.h"

namespace fovea {
namespace {

double weighted_sum(const Tensor& y, const std::vector<double>& w) {
  const std::vector<double> values = y.to_vector();
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * values[i];
  return sum;
}

/// One element of a tensor. Setting it invalidates results computed from the tensor.
class TensorElement {
 public:
  TensorElement(const Tensor& x, std::int64_t flat)
      : element_(x.alias({}, {}, offset_at(x.shape(), x.strides(), flat))) {}

  [[nodiscard]] double value() const { return element_.item(); }
  void set(double value) const {
    if (!element_.device().is_cpu()) return element_.fill_(value);
    *element_.data<double>() = value;  // a direct write: this runs a hundred thousand times
    element_.bump_version();
  }

 private:
  Tensor element_;
};

/// d<w, f>/d(input[flat]) from four values of f. Restores the input.
double central_difference(const TensorFn& f, const std::vector<Tensor>& inputs, const Tensor& input,
                          std::int64_t flat, const std::vector<double>& w, double step) {
  const NoGrad no_grad;
  const TensorElement entry(input, flat);
  const double x = entry.value(), h = step * std::max(1.0, std::abs(x));
  const auto value_at = [&](double at) {
    entry.set(at);
    return weighted_sum(f(inputs), w);
  };
  const double near = value_at(x + h) - value_at(x - h);
  const double far = value_at(x + 2 * h) - value_at(x - 2 * h);
  entry.set(x);
  return (8 * near - far) / (12 * h);
}

/// The index of the largest derivative; 0 for an empty gradient.
std::size_t largest_of(const Tensor& gradient) {
  if (!gradient.defined()) return 0;
  const std::vector<double> all = gradient.to_vector();
  const auto is_smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return static_cast<std::size_t>(std::ranges::max_element(all, is_smaller) - all.begin());
}

/// The entries of an input to check, in ascending order. A random selection also includes the
/// largest derivative, which sets the scale for the error bound.
std::vector<std::size_t> chosen_entries(const Tensor& input, std::size_t index,
                                        const GradcheckOptions& options) {
  const std::int64_t count = input.numel();
  std::int64_t wanted = options.most_entries == 0 ? count : std::min(options.most_entries, count);
  Rng random(options.seed, index);
  std::vector<std::size_t> entries;
  for (std::int64_t k = 0; wanted > 0; ++k) {
    // Selection sampling: keeps as many of the remaining entries as are still wanted.
    if (random.below(count - k) >= wanted) continue;
    entries.push_back(static_cast<std::size_t>(k));
    --wanted;
  }
  const std::size_t largest = largest_of(input.grad());
  const auto place = std::ranges::lower_bound(entries, largest);
  const bool is_chosen = place != entries.end() && *place == largest;
  if (!is_chosen && count > 0) entries.insert(place, largest);
  return entries;
}

/// Selected entries of an input: their derivatives and central differences.
struct Differences {
  std::vector<std::size_t> entries;
  std::vector<double> analytic, numeric;

  /// The error of entry k, with its central difference or another one.
  [[nodiscard]] double error(std::size_t k, double value, double largest) const {
    const double scale = std::max({std::abs(value), 1e-3 * largest, 1e-6});
    return std::abs(analytic[k] - value) / scale;
  }
};

std::vector<double> derivatives_of(const Tensor& input, const std::vector<std::size_t>& entries) {
  std::vector<double> analytic(entries.size());
  if (!input.grad().defined()) return analytic;
  const std::vector<double> all = input.grad().to_vector();
  for (std::size_t k = 0; k < entries.size(); ++k) analytic[k] = all[entries[k]];
  return analytic;
}

/// `difference_at(entry, step)` computes a central difference.
template <class DifferenceAt>
void compare(std::size_t index, Differences d, const DifferenceAt& difference_at,
             const GradcheckOptions& options, GradcheckResult& result) {
  double largest = 0;
  for (const double n : d.numeric) largest = std::max(largest, std::abs(n));
  for (std::size_t k = 0; k < d.numeric.size(); ++k) {
    double error = d.error(k, d.numeric[k], largest), step = options.step;
    for (int smaller = 0; options.has_kinks && smaller < 4; ++smaller) {
      if (error <= options.tolerance) break;
      step /= 8;
      const double again = difference_at(d.entries[k], step);
      const double new_error = d.error(k, again, largest);
      if (new_error < error) std::tie(error, d.numeric[k]) = std::pair(new_error, again);
    }
    ++result.entries;
    if (error <= result.worst) continue;  // not <=, so that a NaN error counts
    result.worst = std::isnan(error) ? INFINITY : error;
    std::ostringstream message;
    message << "input " << index << " entry " << d.entries[k] << ": derivative " << d.analytic[k]
            << ", central difference " << d.numeric[k];
    result.message = message.str();
  }
  result.ok = result.worst <= options.tolerance;
}

}  // namespace

GradcheckResult gradcheck(const TensorFn& f, const std::vector<Tensor>& inputs,
                          GradcheckOptions options) {
  GradcheckResult result;
  check(std::ranges::any_of(inputs, &Tensor::requires_grad), "gradcheck: got ", inputs.size(),
        " inputs of which none requires a gradient, expected one that does");
  for (const Tensor& input : inputs) {
    check(!input.requires_grad() || input.dtype() == DType::f64,
          "gradcheck: inputs that require a gradient must be f64, got ", to_string(input.dtype()));
    input.set_grad({});
  }
  const Tensor y = f(inputs);
  const Tensor cotangent = rand_normal(y.shape(), {0, 1}, {options.seed}, {DType::f64, {}});
  const std::vector<double> w = cotangent.to_vector();
  if (y.requires_grad()) backward(y, cotangent.to(y.device()));
  if (options.after_backward) options.after_backward();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    const auto difference_at = [&](std::size_t entry, double step) {
      return central_difference(f, inputs, inputs[i], static_cast<std::int64_t>(entry), w, step);
    };
    Differences differences{chosen_entries(inputs[i], i, options), {}, {}};
    differences.analytic = derivatives_of(inputs[i], differences.entries);
    for (const std::size_t entry : differences.entries) {
      differences.numeric.push_back(difference_at(entry, options.step));
    }
    compare(i, std::move(differences), difference_at, options, result);
  }
  return result;
}

}  // namespace fovea
