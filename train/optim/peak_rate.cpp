// Scaling of the peak learning rate: linear in the batch size (Goyal et al. 2017), or by its square
// root, which preserves the noise scale of Adam's steps.
#include "train/optim/peak_rate.h"

#include <cmath>

namespace fovea {

double peak_lr(const PeakRate& rate, std::int64_t samples) {
  const double ratio = static_cast<double>(samples) / static_cast<double>(rate.base_size);
  return rate.lr.value_or(rate.base * (rate.growth == RateGrowth::sqrt ? std::sqrt(ratio) : ratio));
}

}  // namespace fovea
