// Builds the training pipeline, following timm's transforms_factory.
#include "data/augment/training_pipeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/augment/blur.h"
#include "data/augment/color.h"
#include "data/augment/policy.h"
#include "data/geometry/adm_crop.h"
#include "data/geometry/detr_resize.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr std::int64_t kBlurTaps = 23;  // as in timm

Filter draw_filter(const std::optional<Filter>& filter, Rng& rng) {
  if (filter) return *filter;
  return rng.uniform() < 0.5 ? Filter::bilinear : Filter::bicubic;
}

using Moves = std::vector<Geometry>;

/// A random position of `size` in the image, or of the image in `size` along sides where it is
/// larger.
PixelBox draw_crop_or_pad(ImageSize image, ImageSize size, Rng& rng) {
  const auto start = [&rng](std::int64_t whole, std::int64_t part) {
    return whole >= part ? rng.below(whole - part + 1) : -rng.below(part - whole + 1);
  };
  const std::int64_t top = start(image.height, size.height), left = start(image.width, size.width);
  return {top, top + size.height, left, left + size.width};
}

Moves keep_ratio(ImageSize image, const AugmentOptions& o, Rng& rng) {
  const ImageSize size = draw_kept_ratio(image, o.size, o.range, rng);
  const Filter filter = draw_filter(o.filter, rng);
  const PixelBox box = o.crop == TrainCrop::keep_ratio_random ? draw_crop_or_pad(size, o.size, rng)
                                                              : center_box_or_pad(size, o.size);
  return {geometry::Resize{size, filter}, geometry::Crop{box, Padding::reflect}};
}

/// DeiT III's simple random crop: the shorter side scaled to the size, four pixels of reflect
/// padding.
Moves simple_crop(ImageSize image, const AugmentOptions& o, Rng& rng) {
  constexpr std::int64_t kAround = 4;
  const ImageSize whole = covering_size(image, o.size);
  const Filter filter = draw_filter(o.filter, rng);
  const std::int64_t top = rng.below(whole.height - o.size.height + 2 * kAround + 1) - kAround;
  const std::int64_t left = rng.below(whole.width - o.size.width + 2 * kAround + 1) - kAround;
  const PixelBox box{top, top + o.size.height, left, left + o.size.width};
  return {geometry::Resize{whole, filter}, geometry::Crop{box, Padding::reflect}};
}

void add_padded_crop(Pipeline& pipeline, const AugmentOptions& options) {
  if (options.size != ImageSize{}) {
    const geometry::Resize resize{options.size, options.filter.value_or(Filter::bicubic)};
    pipeline.steps.push_back(geometry_step([resize](ImageSize, Rng&) { return Moves{resize}; }));
  }
  if (options.crop_padding == 0) return;
  pipeline.steps.push_back(geometry_step([options](ImageSize size, Rng& rng) {
    return Moves{
        geometry::Crop{draw_padded_crop(size, options.crop_padding, rng), options.padding}};
  }));
}

void add_crop(Pipeline& pipeline, const AugmentOptions& options) {
  if (options.crop == TrainCrop::keep) return;
  if (options.crop == TrainCrop::pad) return add_padded_crop(pipeline, options);
  check(options.size.height >= 1 && options.size.width >= 1, "training_pipeline: got size ",
        options.size.height, " x ", options.size.width, ", expected at least 1 x 1");
  const bool once = options.crop == TrainCrop::resized_once;
  if (once || options.crop == TrainCrop::resized) {
    pipeline.choose_box = [range = options.range, once](ImageSize size, Rng& rng) {
      return once ? draw_resized_crop_once(size, range, rng) : draw_resized_crop(size, range, rng);
    };
    pipeline.steps.push_back(geometry_step([options](ImageSize, Rng& rng) {
      return Moves{geometry::Resize{options.size, draw_filter(options.filter, rng)}};
    }));
    return;
  }
  if (options.crop == TrainCrop::adm) {
    pipeline.steps.push_back(
        geometry_step([side = square_side(options.size)](ImageSize size, Rng&) {
          return adm_crop_moves(size, side);
        }));
    return;
  }
  if (options.crop == TrainCrop::detr) {
    const std::int64_t side = std::min(options.size.height, options.size.width);
    pipeline.steps.push_back(geometry_step([options, side](ImageSize size, Rng& rng) {
      return draw_detr_moves(size, side, draw_filter(options.filter, rng), rng);
    }));
    return;
  }
  const bool simple = options.crop == TrainCrop::simple;
  pipeline.steps.push_back(geometry_step([options, simple](ImageSize size, Rng& rng) {
    return simple ? simple_crop(size, options, rng) : keep_ratio(size, options, rng);
  }));
}

Pipeline::Step flip_step(geometry::Flip flip) {
  return geometry_step([flip](ImageSize, Rng&) { return Moves{flip}; });
}

void add_sometimes(std::vector<Pipeline::Step>& steps, double probability, Pipeline::Step step) {
  if (probability > 0) steps.push_back(sometimes(probability, std::move(step)));
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
      [policy = parse_augment_policy(options.policy, settings)](Sample sample, Rng& rng) {
        return apply(policy, std::move(sample), rng);
      });
}

/// Whether to apply colour jitter: timm omits it with a policy other than 3-Augment's.
bool jitters(const AugmentOptions& options) {
  const bool allowed = options.policy.empty() || options.policy.find("3a") != std::string::npos;
  return allowed && options.jitter.active();
}

void add_colors(Pipeline& pipeline, const AugmentOptions& options) {
  add_policy(pipeline, options);
  if (jitters(options)) {
    add_sometimes(pipeline.variations, options.jitter_probability,
                  color_step([jitter = options.jitter](Image image, Rng& rng) {
                    return color_jitter(std::move(image), jitter, rng);
                  }));
  }
  add_sometimes(pipeline.variations, options.grayscale,
                color_step([](const Image& image, Rng&) { return grayscale(image); }));
  add_sometimes(pipeline.variations, options.blur, color_step([](const Image& image, Rng& rng) {
                  return gaussian_filter(image, kBlurTaps, rng.uniform(0.1, 2));
                }));
}

}  // namespace

Pipeline training_pipeline(const AugmentOptions& options) {
  Pipeline pipeline;
  pipeline.normalization = options.normalization;
  add_crop(pipeline, options);
  add_sometimes(pipeline.steps, options.flip, flip_step({.vertical = false}));
  add_sometimes(pipeline.steps, options.vertical_flip, flip_step({.vertical = true}));
  add_colors(pipeline, options);
  if (options.erase.probability > 0) {
    pipeline.draw_erasures = [erase = options.erase](ImageSize size, Rng& rng) {
      return draw_erasures(erase, size, rng);
    };
  }
  return pipeline;
}

}  // namespace fovea
