// The steps of training and evaluation, put together as timm's transforms_factory does.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "data/augment/blur.h"
#include "data/augment/color.h"
#include "data/augment/policy.h"
#include "data/transforms.h"

namespace fovea {
namespace {

constexpr std::int64_t kSmallImage = 32;  // up to here nothing is cropped away for evaluation
constexpr std::int64_t kBlurTaps = 23;    // timm's

std::int64_t scaled(std::int64_t side, double crop_pct) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(side) / crop_pct));
}

/// The image's shape with its shorter side as given (torchvision's Resize: rounded down).
ImageSize shorter_side(const Image& image, std::int64_t shorter) {
  const auto longer = [shorter](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<double>(shorter * a) / static_cast<double>(b));
  };
  return image.height <= image.width ? ImageSize{shorter, longer(image.width, image.height)}
                                     : ImageSize{longer(image.height, image.width), shorter};
}

/// The image's shape, just large enough to cover `size` (timm's ResizeKeepRatio: rounded to even).
ImageSize covering(const Image& image, ImageSize size) {
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double ratio =
      std::min(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
  return {static_cast<std::int64_t>(std::nearbyint(height / ratio)),
          static_cast<std::int64_t>(std::nearbyint(width / ratio))};
}

/// The shorter side as in a square `size`, or both sides just large enough: as timm evaluates.
ImageSize cover(const Image& image, ImageSize size) {
  return size.height == size.width ? shorter_side(image, size.height) : covering(image, size);
}

/// Just small enough for `size` to cover it.
ImageSize covered(const Image& image, ImageSize size) {
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double ratio =
      std::max(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
  return {std::max<std::int64_t>(1, static_cast<std::int64_t>(std::nearbyint(height / ratio))),
          std::max<std::int64_t>(1, static_cast<std::int64_t>(std::nearbyint(width / ratio)))};
}

Image resized(Image image, ImageSize size, Filter filter) {
  if (image.height == size.height && image.width == size.width) return image;
  return resize(image, size, filter);
}

Filter draw_filter(const std::optional<Filter>& filter, Rng& rng) {
  if (filter) return *filter;
  return rng.uniform() < 0.5 ? Filter::bilinear : Filter::bicubic;
}

/// A random place of `size` in the image, or of the image in `size` where that is larger.
Image random_crop_or_pad(const Image& image, ImageSize size, Rng& rng) {
  const auto start = [&rng](std::int64_t whole, std::int64_t part) {
    return whole >= part ? rng.below(whole - part + 1) : -rng.below(part - whole + 1);
  };
  const std::int64_t top = start(image.height, size.height), left = start(image.width, size.width);
  return crop(image, {top, top + size.height, left, left + size.width}, Padding::reflect);
}

Image keep_ratio(const Image& image, const AugmentOptions& o, Rng& rng) {
  const ImageSize size = draw_kept_ratio({image.height, image.width}, o.size, o.range, rng);
  const Image scaled_image = resize(image, size, draw_filter(o.filter, rng));
  return o.crop == TrainCrop::keep_ratio_random
             ? random_crop_or_pad(scaled_image, o.size, rng)
             : center_crop_or_pad(scaled_image, o.size, Padding::reflect);
}

/// DeiT III's simple random crop: the shorter side to the size, four reflected pixels around.
Image simple_crop(const Image& image, const AugmentOptions& o, Rng& rng) {
  constexpr std::int64_t kAround = 4;
  const Image whole = resize(image, cover(image, o.size), draw_filter(o.filter, rng));
  const std::int64_t top = rng.below(whole.height - o.size.height + 2 * kAround + 1) - kAround;
  const std::int64_t left = rng.below(whole.width - o.size.width + 2 * kAround + 1) - kAround;
  return crop(whole, {top, top + o.size.height, left, left + o.size.width}, Padding::reflect);
}

void add_padded_crop(Pipeline& pipeline, const AugmentOptions& options) {
  if (options.size != ImageSize{}) {
    pipeline.steps.emplace_back([options](Image image, Rng&) {
      return resized(std::move(image), options.size, options.filter.value_or(Filter::bicubic));
    });
  }
  if (options.crop_padding == 0) return;
  pipeline.steps.emplace_back([options](const Image& image, Rng& rng) {
    return random_crop(image, options.crop_padding, rng, options.padding);
  });
}

void add_crop(Pipeline& pipeline, const AugmentOptions& options) {
  if (options.crop == TrainCrop::pad) return add_padded_crop(pipeline, options);
  check(options.size.height >= 1 && options.size.width >= 1, "training_pipeline: got size ",
        options.size.height, " x ", options.size.width, ", expected at least 1 x 1");
  if (options.crop == TrainCrop::resized) {
    pipeline.choose_box = [range = options.range](ImageSize size, Rng& rng) {
      return draw_resized_crop(size, range, rng);
    };
    pipeline.steps.emplace_back([options](Image image, Rng& rng) {
      return resized(std::move(image), options.size, draw_filter(options.filter, rng));
    });
    return;
  }
  const bool simple = options.crop == TrainCrop::simple;
  pipeline.steps.emplace_back([options, simple](const Image& image, Rng& rng) {
    return simple ? simple_crop(image, options, rng) : keep_ratio(image, options, rng);
  });
}

/// Adds a step that is taken with the given probability.
template <class Step>
void add_sometimes(std::vector<Pipeline::Step>& steps, double probability, const Step& step) {
  if (probability <= 0) return;
  steps.emplace_back([probability, step](Image image, Rng& rng) {
    if (rng.uniform() < probability) return step(std::move(image), rng);
    return image;  // moved, as it would not be out of a conditional expression
  });
}

void add_policy(Pipeline& pipeline, const AugmentOptions& options) {
  if (options.policy.empty()) return;
  AugmentSettings settings;
  settings.fill = mean_color(options.normalization);
  settings.filter = options.filter;
  if (options.size != ImageSize{}) {
    const auto side = static_cast<double>(std::min(options.size.height, options.size.width));
    settings.translate_const = std::trunc(side * 0.45);
  }
  pipeline.variations.emplace_back(
      [policy = parse_augment_policy(options.policy, settings)](Image image, Rng& rng) {
        return apply(policy, std::move(image), rng);
      });
}

/// timm leaves colour jitter out beside a policy, unless it is one of 3-Augment's.
bool jitters(const AugmentOptions& options) {
  const bool allowed = options.policy.empty() || options.policy.find("3a") != std::string::npos;
  return allowed && options.jitter.active();
}

void add_colors(Pipeline& pipeline, const AugmentOptions& options) {
  add_policy(pipeline, options);
  if (jitters(options)) {
    add_sometimes(pipeline.variations, options.jitter_probability,
                  [jitter = options.jitter](Image image, Rng& rng) {
                    return color_jitter(std::move(image), jitter, rng);
                  });
  }
  add_sometimes(pipeline.variations, options.grayscale,
                [](const Image& image, Rng&) { return grayscale(image); });
  add_sometimes(pipeline.variations, options.blur, [](const Image& image, Rng& rng) {
    return gaussian_filter(image, kBlurTaps, rng.uniform(0.1, 2));
  });
}

}  // namespace

Color8 mean_color(const Normalization& normalization) {
  Color8 color{};
  for (std::size_t c = 0; c < color.size(); ++c) {
    const double value = std::nearbyint(255.0 * static_cast<double>(normalization.mean[c]));
    color[c] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
  }
  return color;
}

Pipeline training_pipeline(const AugmentOptions& options) {
  Pipeline pipeline;
  pipeline.normalization = options.normalization;
  add_crop(pipeline, options);
  add_sometimes(pipeline.steps, options.flip,
                [](Image image, Rng&) { return flip_horizontal(std::move(image)); });
  add_sometimes(pipeline.steps, options.vertical_flip,
                [](Image image, Rng&) { return flip_vertical(std::move(image)); });
  add_colors(pipeline, options);
  if (options.erase.probability > 0) {
    pipeline.finish = [erase = options.erase](float* values, ImageSize size, Rng& rng) {
      random_erase(values, size, erase, rng);
    };
  }
  return pipeline;
}

Image resize_for_evaluation(const Image& image, ImageSize size, double crop_pct, Filter filter) {
  check(crop_pct > 0 && crop_pct <= 1, "resize_for_evaluation: got crop_pct ", crop_pct,
        ", expected more than 0 and at most 1");
  const ImageSize scale = {scaled(size.height, crop_pct), scaled(size.width, crop_pct)};
  return center_crop(resize(image, cover(image, scale), filter), size);
}

ImageSize evaluation_scale(const EvaluationOptions& options) {
  check(options.crop_pct > 0 && options.crop_pct <= 1, "evaluation: got crop_pct ",
        options.crop_pct, ", expected more than 0 and at most 1");
  return {scaled(options.size.height, options.crop_pct),
          scaled(options.size.width, options.crop_pct)};
}

Image prepare_for_evaluation(const Image& image, const EvaluationOptions& o) {
  const bool small = std::max(image.height, image.width) <= kSmallImage;
  const ImageSize scale = evaluation_scale(o);
  switch (o.crop_mode) {
    case CropMode::squash:
      return center_crop(resize(image, scale, o.filter), o.size);
    case CropMode::border:
      return center_crop_or_pad(resize(image, covered(image, scale), o.filter), o.size,
                                Padding::constant, mean_color(o.normalization));
    default:
      if (o.crop_mode == CropMode::automatic && small) return resize(image, o.size, o.filter);
      return resize_for_evaluation(image, o.size, o.crop_pct, o.filter);
  }
}

Pipeline evaluation_pipeline(const EvaluationOptions& options) {
  Pipeline pipeline;
  pipeline.normalization = options.normalization;
  if (options.size == ImageSize{}) return pipeline;
  pipeline.steps.emplace_back(
      [options](const Image& image, Rng&) { return prepare_for_evaluation(image, options); });
  return pipeline;
}

}  // namespace fovea
