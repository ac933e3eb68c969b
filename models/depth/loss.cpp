// Both losses. Pixels whose depth is not known are multiplied by 0 and not counted.
#include "models/depth/loss.h"

#include "engine/base/error.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"

namespace fovea {
namespace {

/// Which pixels of a batch are known.
struct KnownPixels {
  explicit KnownPixels(const Tensor& targets)
      : mask(ops::greater(targets, zeros({1}, targets.options()))),
        ones(mask.to(targets.dtype())) {}

  /// Their count, at least 1.
  [[nodiscard]] Tensor count(ops::Axes axes = {}) const {
    return ops::clamp(ops::sum(ones, axes), 1, static_cast<double>(ones.numel()) + 1);
  }

  Tensor mask;  ///< u8 [B, H, W]
  Tensor ones;  ///< the same as numbers
};

Tensor absolute_error(const Tensor& depths, const Tensor& targets, std::optional<double> count) {
  const KnownPixels known(targets);
  const Tensor sum = ops::sum(ops::abs(depths - targets) * known.ones);
  return count ? sum / *count : sum / known.count();
}

Tensor scale_invariant_error(const Tensor& depths, const Tensor& targets) {
  const KnownPixels known(targets);
  const Tensor positive = ops::where(known.mask, targets, full({1}, 1, targets.options()));
  const Tensor e = (ops::log(depths) - ops::log(positive)) * known.ones;
  const Tensor count = known.count({1, 2});  // [B]
  const Tensor mean = ops::sum(e, {1, 2}) / count;
  return ops::mean(ops::sum(e * e, {1, 2}) / count - 0.5 * (mean * mean));
}

}  // namespace

double known_pixels(const Tensor& targets) { return KnownPixels(targets).count().item(); }

Tensor depth_loss(DepthLoss kind, const Tensor& depths, const Tensor& targets,
                  std::optional<double> count) {
  check(depths.rank() == 3 && depths.shape() == targets.shape(), "depth_loss: got depths ",
        depths.shape(), " and targets ", targets.shape(), ", expected both [B, H, W]");
  const DType wide = acc_dtype(depths.dtype());
  const Tensor d = depths.to(wide), target = targets.to(wide);
  return kind == DepthLoss::l1 ? absolute_error(d, target, count)
                               : scale_invariant_error(d, target);
}

}  // namespace fovea
