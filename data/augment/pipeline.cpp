// As timm's transforms_factory puts them together.
#include "data/augment/pipeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "data/augment/blur.h"
#include "data/augment/color.h"
#include "data/augment/policy.h"

namespace fovea {
namespace {

constexpr std::int64_t kBlurTaps = 23;  // timm's

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
  const Image whole = resize(image, covering_size(image, o.size), draw_filter(o.filter, rng));
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
  const bool once = options.crop == TrainCrop::resized_once;
  if (once || options.crop == TrainCrop::resized) {
    pipeline.choose_box = [range = options.range, once](ImageSize size, Rng& rng) {
      return once ? draw_resized_crop_once(size, range, rng) : draw_resized_crop(size, range, rng);
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

}  // namespace fovea
