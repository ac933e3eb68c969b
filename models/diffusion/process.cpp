// Tables of a diffusion process, in f64 as in the official code, which rounds them when they are
// gathered.
#include "models/diffusion/process.h"

#include <cmath>
#include <span>

#include "engine/base/error.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/view.h"

namespace fovea {
namespace {

std::vector<double> cumulative_products(const std::vector<double>& betas) {
  std::vector<double> products;
  double product = 1;
  for (const double beta : betas) products.push_back(product *= 1 - beta);
  return products;
}

/// The betas that lead from each of `kept` to the next with the products unchanged.
std::vector<double> spaced_betas(const std::vector<double>& products,
                                 const std::vector<std::int64_t>& kept) {
  std::vector<double> betas;
  double previous = 1;
  for (const std::int64_t t : kept) {
    const double product = products[static_cast<std::size_t>(t)];
    betas.push_back(1 - product / previous);
    previous = product;
  }
  return betas;
}

StepCoefficients coefficients(double beta, double product, double previous) {
  StepCoefficients c;
  c.alphas_cumprod = product;
  c.alphas_cumprod_prev = previous;
  c.sqrt_alphas_cumprod = std::sqrt(product);
  c.sqrt_one_minus_alphas_cumprod = std::sqrt(1 - product);
  c.sqrt_recip_alphas_cumprod = std::sqrt(1 / product);
  c.sqrt_recipm1_alphas_cumprod = std::sqrt(1 / product - 1);
  c.posterior_x0 = beta * std::sqrt(previous) / (1 - product);
  c.posterior_xt = (1 - previous) * std::sqrt(1 - beta) / (1 - product);
  c.posterior_variance = beta * (1 - previous) / (1 - product);
  c.posterior_log_variance = std::log(c.posterior_variance);
  c.fixed_log_variance = c.log_beta = std::log(beta);
  return c;
}

std::vector<StepCoefficients> all_coefficients(const std::vector<double>& betas) {
  const std::vector<double> products = cumulative_products(betas);
  std::vector<StepCoefficients> steps;
  for (std::size_t t = 0; t < betas.size(); ++t) {
    steps.push_back(coefficients(betas[t], products[t], t == 0 ? 1 : products[t - 1]));
  }
  StepCoefficients& first = steps.front();
  first.posterior_log_variance =
      steps.size() > 1 ? steps[1].posterior_log_variance : first.log_beta;
  first.fixed_log_variance = first.posterior_log_variance;
  return steps;
}

/// In the order of BatchCoefficients.
std::vector<double> columns(const StepCoefficients& c) {
  const double to_mean = c.posterior_x0 * c.sqrt_recipm1_alphas_cumprod;
  return {c.sqrt_alphas_cumprod,
          c.sqrt_one_minus_alphas_cumprod,
          c.sqrt_recipm1_alphas_cumprod,
          c.posterior_log_variance,
          c.log_beta,
          to_mean * to_mean};
}

Tensor table_of(const std::vector<StepCoefficients>& steps) {
  std::vector<double> values;
  for (const StepCoefficients& c : steps) {
    const std::vector<double> row = columns(c);
    values.insert(values.end(), row.begin(), row.end());
  }
  const std::int64_t rows = std::ssize(steps);
  return from_values({rows, std::ssize(values) / rows}, values, {DType::f64, {}});
}

}  // namespace

DiffusionProcess::DiffusionProcess(const ProcessOptions& options, Device device)
    : betas_(noise_betas(options.schedule, options.steps)),
      timesteps_(space_timesteps(options.steps, options.respacing)) {
  if (timesteps_.size() < betas_.size()) {
    betas_ = spaced_betas(cumulative_products(betas_), timesteps_);
  }
  steps_ = all_coefficients(betas_);
  table_ = table_of(steps_).to(device);
}

std::int64_t DiffusionProcess::timestep(std::int64_t i) const {
  static_cast<void>(at(i));
  return timesteps_[static_cast<std::size_t>(i)];
}

const StepCoefficients& DiffusionProcess::at(std::int64_t i) const {
  check(i >= 0 && i < size(), "diffusion step: got ", i, ", expected 0 to ", size() - 1);
  return steps_[static_cast<std::size_t>(i)];
}

BatchCoefficients DiffusionProcess::at(const Tensor& t, DType dtype) const {
  const Tensor rows = ops::index_select(table_, 0, t).to(dtype);
  const auto column = [&](std::int64_t i) {
    return ops::reshape(ops::select(rows, 1, i).contiguous(), {t.size(0), 1, 1, 1});
  };
  return {column(0), column(1), column(2), column(3), column(4), column(5)};
}

Tensor DiffusionProcess::add_noise(const Tensor& x0, const Tensor& t, const Tensor& noise) const {
  const BatchCoefficients c = at(t, x0.dtype());
  return x0 * c.sqrt_alphas_cumprod + noise * c.sqrt_one_minus_alphas_cumprod;
}

}  // namespace fovea
