// The diffusion process: tables of its coefficients in f64, and the noising of images. Letters as
// in the papers: a = 1 - beta, ab_t = a_0 ... a_t, x_t = sqrt(ab_t) x_0 + sqrt(1 - ab_t) eps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor.h"
#include "models/diffusion/schedule.h"

namespace fovea {

inline constexpr std::int64_t kMaxDiffusionSteps = 100'000;

struct ProcessOptions {
  NoiseSchedule schedule = NoiseSchedule::linear;
  std::int64_t steps = 1000;
  std::string respacing{};  ///< see space_timesteps()
};

/// The coefficients of one step.
struct StepCoefficients {
  double alphas_cumprod = 1;       ///< ab_t
  double alphas_cumprod_prev = 1;  ///< ab_(t - 1); 1 before the first step
  double sqrt_alphas_cumprod = 1;
  double sqrt_one_minus_alphas_cumprod = 0;
  double sqrt_recip_alphas_cumprod = 1;    ///< x_0 = this x_t - the next eps
  double sqrt_recipm1_alphas_cumprod = 0;  ///< sqrt(1 / ab_t - 1)
  /// The posterior q(x_(t - 1) | x_t, x_0) = N(posterior_x0 x_0 + posterior_xt x_t, variance).
  double posterior_x0 = 1, posterior_xt = 0;
  double posterior_variance = 0;
  double posterior_log_variance = 0;  ///< clipped: step 0, whose variance is 0, takes step 1's
  double log_beta = 0;
  double fixed_log_variance = 0;  ///< of a model without learned variances: beta; step 0 as above
};

/// The same for the images of a batch: tensors [B, 1, 1, 1].
struct BatchCoefficients {
  Tensor sqrt_alphas_cumprod, sqrt_one_minus_alphas_cumprod, sqrt_recipm1_alphas_cumprod;
  Tensor posterior_log_variance, log_beta;
  Tensor noise_weight;  ///< squared factor from an error of eps to one of the posterior's mean
};

/// A process of `size()` steps. With respacing, step i stands for the step timestep(i) of the
/// process that the model was trained on; betas are those that keep ab at the steps taken.
class DiffusionProcess {
 public:
  explicit DiffusionProcess(const ProcessOptions& options = {}, Device device = {});

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(steps_.size()); }
  [[nodiscard]] const std::vector<double>& betas() const { return betas_; }
  /// The original step, which the model receives as its time.
  [[nodiscard]] std::int64_t timestep(std::int64_t i) const;
  [[nodiscard]] const std::vector<std::int64_t>& timesteps() const { return timesteps_; }
  [[nodiscard]] const StepCoefficients& at(std::int64_t i) const;

  /// Coefficients at steps t i64 [B] on the process's device, in `dtype`.
  [[nodiscard]] BatchCoefficients at(const Tensor& t, DType dtype) const;
  /// x_t for x_0 and noise [B, C, H, W].
  [[nodiscard]] Tensor add_noise(const Tensor& x0, const Tensor& t, const Tensor& noise) const;

 private:
  std::vector<double> betas_;
  std::vector<std::int64_t> timesteps_;
  std::vector<StepCoefficients> steps_;
  Tensor table_;  ///< f64 [steps, members of BatchCoefficients], on the device
};

}  // namespace fovea
