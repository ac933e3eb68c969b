// Mixup and cutmix.
#include "data/augment/mixup.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/base/error.h"

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
  if (o.cutmix_minmax) {
    const auto [least, most] = *o.cutmix_minmax;
    check(least >= 0 && least < most && most <= 1, "cutmix: got shares of a side from ", least,
          " to ", most, ", expected 0 <= least < most <= 1");
  }
  check(in_unit(o.smoothing), "mixup: got smoothing ", o.smoothing, ", expected 0 to 1");
}

void check_even(std::int64_t batch) {
  check(batch % 2 == 0, "mixup: got a batch of ", batch,
        ", expected an even number (sample i is mixed with sample B - 1 - i)");
}

/// A box with random sides, within shares of the image's sides, at a random position inside.
MixDraw draw_minmax(const std::array<double, 2>& shares, ImageSize image, Rng& rng) {
  const auto draw_side = [&](std::int64_t side) {
    const auto least = static_cast<std::int64_t>(static_cast<double>(side) * shares[0]);
    const auto most = static_cast<std::int64_t>(static_cast<double>(side) * shares[1]);
    return least + rng.below(std::max<std::int64_t>(1, most - least));
  };
  const std::int64_t height = draw_side(image.height), width = draw_side(image.width);
  const std::int64_t top = rng.below(image.height - height + 1);
  const std::int64_t left = rng.below(image.width - width + 1);
  const PixelBox box{top, top + height, left, left + width};
  const double share =
      static_cast<double>(box.area()) / static_cast<double>(image.height * image.width);
  return {1 - share, /*is_cutmix=*/true, box};
}

const MixDraw& draw_of(std::span<const MixDraw> draws, std::int64_t sample) {
  return draws.size() == 1 ? draws.front() : draws[static_cast<std::size_t>(sample)];
}

void check_draws(std::span<const MixDraw> draws, std::int64_t batch) {
  check_even(batch);
  check(draws.size() == 1 || std::ssize(draws) == batch, "mixup: got ", draws.size(),
        " draws, expected 1 or ", batch);
}

std::uint8_t blend_values(std::uint8_t a, std::uint8_t b, const MixDraw& draw) {
  const auto own = static_cast<float>(draw.lambda), other = static_cast<float>(1 - draw.lambda);
  return static_cast<std::uint8_t>(
      std::nearbyint(static_cast<float>(a) * own + static_cast<float>(b) * other));
}

float blend_values(float a, float b, const MixDraw& draw) {
  return a * static_cast<float>(draw.lambda) + b * static_cast<float>(1 - draw.lambda);
}

/// One image as `rows` = C H rows, where `height` = H.
struct ImageRows {
  std::int64_t rows, height, width;
  [[nodiscard]] std::int64_t values() const { return rows * width; }
};

/// Replaces x by its mix with the partner.
template <class T>
void mix_image(T* x, const T* partner, const MixDraw& draw, const ImageRows& size) {
  if (!draw.is_cutmix) {
    for (std::int64_t k = 0; k < size.values(); ++k) x[k] = blend_values(x[k], partner[k], draw);
    return;
  }
  for (std::int64_t row = 0; row < size.rows; ++row) {  // all channels, one pixel row each
    const std::int64_t in_image = row % size.height;
    if (in_image < draw.box.top || in_image >= draw.box.bottom) continue;
    std::copy(partner + row * size.width + draw.box.left,
              partner + row * size.width + draw.box.right, x + row * size.width + draw.box.left);
  }
}

/// Mixes both images of a pair; a copy of the first is the only extra memory.
template <class T>
void mix_all(T* images, std::int64_t batch, const ImageRows& size, std::span<const MixDraw> draws) {
  std::vector<T> before(static_cast<std::size_t>(size.values()));
  for (std::int64_t i = 0; i < batch / 2; ++i) {
    const std::int64_t j = batch - 1 - i;
    T *first = images + i * size.values(), *last = images + j * size.values();
    std::copy_n(first, size.values(), before.data());
    mix_image(first, last, draw_of(draws, i), size);
    mix_image(last, static_cast<const T*>(before.data()), draw_of(draws, j), size);
  }
}

/// Leaves the mixing of raw pixels of this shape to the model's device.
void leave_mixing(RawPixels& raw, const Shape& images, std::span<const MixDraw> draws) {
  constexpr std::int64_t kBoxNumbers = 5;
  raw.mixed = empty({images[0], kBoxNumbers}, {DType::i64, {}});
  raw.weights = empty({images[0], 2});
  auto* number = raw.mixed.data<std::int64_t>();
  float* weight = raw.weights.data<float>();
  for (std::int64_t i = 0; i < images[0]; ++i) {
    const MixDraw& draw = draw_of(draws, i);
    const PixelBox box = draw.is_cutmix ? draw.box : PixelBox{0, images[2], 0, images[3]};
    for (const std::int64_t side : {box.top, box.bottom, box.left, box.right}) *number++ = side;
    *number++ = draw.is_cutmix ? 1 : 0;
    *weight++ = static_cast<float>(draw.lambda);
    *weight++ = static_cast<float>(1 - draw.lambda);
  }
}

/// The tensor itself if no one else refers to its memory; otherwise a copy.
Tensor writable(Tensor images) {
  const bool own = images.impl().use_count() == 1 && images.storage().unique();
  return own && images.is_contiguous() ? images : images.detach().clone();
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
  const bool cutmix = options.cutmix > 0 || options.cutmix_minmax;
  const bool both = options.mixup > 0 && cutmix;
  if (options.mixup == 0 && !cutmix) return {};
  if (rng.uniform() >= options.probability) return {};

  const bool cut = both ? rng.uniform() < options.switch_probability : cutmix;
  if (cut && options.cutmix_minmax) {
    return draw_minmax(*options.cutmix_minmax, {height, width}, rng);
  }
  const double alpha = cut ? options.cutmix : options.mixup;
  const double lambda = rng.beta(alpha, alpha);
  if (!cut) return {.lambda = lambda};
  const std::int64_t y = rng.below(height), x = rng.below(width);
  return cutmix_draw(lambda, y, x, height, width);
}

std::vector<MixDraw> draw_mixes(const MixOptions& options, const Shape& images, Rng& rng) {
  check(images.rank() == 4, "mixup: got images ", images, ", expected [B, C, H, W]");
  const std::int64_t batch = images[0];
  check_even(batch);
  const auto draw = [&] { return draw_mix(options, images[2], images[3], rng); };
  if (options.mode == MixMode::batch) {
    return std::vector<MixDraw>(static_cast<std::size_t>(batch), draw());
  }
  const bool pairs = options.mode == MixMode::pair;
  std::vector<MixDraw> draws;
  for (std::int64_t i = 0; i < (pairs ? batch / 2 : batch); ++i) draws.push_back(draw());
  if (pairs) {
    const std::vector<MixDraw> mirrored(draws.rbegin(), draws.rend());
    draws.insert(draws.end(), mirrored.begin(), mirrored.end());
  }
  return draws;
}

Tensor mix_images(Tensor images, std::span<const MixDraw> draws) {
  check(images.rank() == 4, "mixup: got images ", images.shape(), ", expected [B, C, H, W]");
  const std::int64_t batch = images.size(0);
  check_draws(draws, batch);
  check(images.dtype() == DType::f32 || images.dtype() == DType::u8, "mixup: got images of ",
        images.dtype(), ", expected f32 or u8");
  Tensor mixed = writable(std::move(images));
  const ImageRows size{mixed.size(1) * mixed.size(2), mixed.size(2), mixed.size(3)};
  if (mixed.dtype() == DType::u8)
    mix_all(mixed.data<std::uint8_t>(), batch, size, draws);
  else
    mix_all(mixed.data<float>(), batch, size, draws);
  mixed.bump_version();
  return mixed;
}

Tensor mix_targets(const Tensor& labels, std::span<const MixDraw> draws,
                   const MixOptions& options) {
  check_options(options);
  const std::int64_t batch = labels.numel(), classes = options.classes;
  check_draws(draws, batch);
  const double off = options.smoothing / static_cast<double>(classes);
  const double on = 1 - options.smoothing + off;
  Tensor targets = empty({batch, classes});
  const auto* label = labels.data<std::int64_t>();
  for (std::int64_t i = 0; i < batch; ++i) {
    check(label[i] >= 0 && label[i] < classes, "mixup: got label ", label[i], ", expected 0 to ",
          classes - 1);
    const MixDraw& draw = draw_of(draws, i);
    for (std::int64_t k = 0; k < classes; ++k) {
      const double own = k == label[i] ? on : off, other = k == label[batch - 1 - i] ? on : off;
      targets.data<float>()[i * classes + k] =
          static_cast<float>(draw.lambda * own + (1 - draw.lambda) * other);
    }
  }
  return targets;
}

Batch mix(Batch batch, const MixOptions& options, Rng& rng) {
  const std::vector<MixDraw> draws = draw_mixes(options, batch.images.shape(), rng);
  batch.set("targets", mix_targets(batch.labels, draws, options));
  if (batch.raw) {
    leave_mixing(*batch.raw, batch.images.shape(), draws);
  } else {
    batch.images = mix_images(std::move(batch.images), draws);
  }
  return batch;
}

}  // namespace fovea
