// Mixup and cutmix.
#include "data/mixup.h"

#include <algorithm>
#include <cmath>

#include "engine/check.h"

namespace fovea {
namespace {

void check_options(const MixOptions& o) {
  const auto in_unit = [](double p) { return p >= 0 && p <= 1; };  // false for NaN
  check(o.mixup >= 0 && std::isfinite(o.mixup), "mixup: got alpha ", o.mixup,
        ", expected 0 or more");
  check(o.cutmix >= 0 && std::isfinite(o.cutmix), "cutmix: got alpha ", o.cutmix,
        ", expected 0 or more");
  check(in_unit(o.probability) && in_unit(o.switch_probability), "mixup: got probabilities ",
        o.probability, " and ", o.switch_probability, ", expected 0 to 1");
  check(in_unit(o.smoothing), "mixup: got smoothing ", o.smoothing, ", expected 0 to 1");
}

void check_even(std::int64_t batch) {
  check(batch % 2 == 0, "mixup: got a batch of ", batch,
        ", expected an even number (sample i is mixed with sample B - 1 - i)");
}

}  // namespace

MixDraw cutmix_draw(double lambda, std::int64_t y, std::int64_t x, std::int64_t height,
                    std::int64_t width) {
  const double ratio = std::sqrt(1 - lambda);
  const std::int64_t half_height =
      static_cast<std::int64_t>(static_cast<double>(height) * ratio) / 2;
  const std::int64_t half_width = static_cast<std::int64_t>(static_cast<double>(width) * ratio) / 2;
  const PixelBox box{std::max<std::int64_t>(y - half_height, 0), std::min(y + half_height, height),
                     std::max<std::int64_t>(x - half_width, 0), std::min(x + half_width, width)};
  const double share = static_cast<double>(box.area()) / static_cast<double>(height * width);
  return {1 - share, /*is_cutmix=*/true, box};
}

MixDraw draw_mix(const MixOptions& options, std::int64_t height, std::int64_t width, Rng& rng) {
  check_options(options);
  const bool both = options.mixup > 0 && options.cutmix > 0;
  if (options.mixup == 0 && options.cutmix == 0) return {};
  if (rng.uniform() >= options.probability) return {};

  const bool cut = both ? rng.uniform() < options.switch_probability : options.cutmix > 0;
  const double alpha = cut ? options.cutmix : options.mixup;
  const double lambda = rng.beta(alpha, alpha);
  if (!cut) return {.lambda = lambda};
  const std::int64_t y = rng.below(height), x = rng.below(width);
  return cutmix_draw(lambda, y, x, height, width);
}

Tensor mix_images(const Tensor& images, const MixDraw& draw) {
  check(images.rank() == 4, "mixup: got images ", images.shape(), ", expected [B, C, H, W]");
  check_even(images.size(0));
  const Tensor source = images.contiguous();
  const std::int64_t batch = source.size(0), width = source.size(3);
  const std::int64_t rows = source.size(1) * source.size(2), values = rows * width;
  Tensor mixed = empty(source.shape());
  const auto own = static_cast<float>(draw.lambda), other = static_cast<float>(1 - draw.lambda);

  for (std::int64_t i = 0; i < batch; ++i) {
    const float* x = source.data<float>() + i * values;
    const float* partner = source.data<float>() + (batch - 1 - i) * values;
    float* y = mixed.data<float>() + i * values;
    if (!draw.is_cutmix) {
      for (std::int64_t k = 0; k < values; ++k) y[k] = x[k] * own + partner[k] * other;
      continue;
    }
    std::copy_n(x, values, y);
    for (std::int64_t row = 0; row < rows; ++row) {  // all channels, one row of pixels each
      const std::int64_t in_image = row % source.size(2);
      if (in_image < draw.box.top || in_image >= draw.box.bottom) continue;
      std::copy(partner + row * width + draw.box.left, partner + row * width + draw.box.right,
                y + row * width + draw.box.left);
    }
  }
  return mixed;
}

Tensor mix_targets(const Tensor& labels, const MixDraw& draw, const MixOptions& options) {
  check_options(options);
  const std::int64_t batch = labels.numel(), classes = options.classes;
  check_even(batch);
  const double off = options.smoothing / static_cast<double>(classes);
  const double on = 1 - options.smoothing + off;
  Tensor targets = empty({batch, classes});
  const auto* label = labels.data<std::int64_t>();
  for (std::int64_t i = 0; i < batch; ++i) {
    check(label[i] >= 0 && label[i] < classes, "mixup: got label ", label[i], ", expected 0 to ",
          classes - 1);
    for (std::int64_t k = 0; k < classes; ++k) {
      const double own = k == label[i] ? on : off, other = k == label[batch - 1 - i] ? on : off;
      targets.data<float>()[i * classes + k] =
          static_cast<float>(draw.lambda * own + (1 - draw.lambda) * other);
    }
  }
  return targets;
}

MixedBatch mix(const Batch& batch, const MixOptions& options, Rng& rng) {
  const MixDraw draw = draw_mix(options, batch.images.size(2), batch.images.size(3), rng);
  return {mix_images(batch.images, draw), mix_targets(batch.labels, draw, options)};
}

}  // namespace fovea
