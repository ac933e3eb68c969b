// timm's augmentation flags; documented in docs/augmentation.md.
#include <algorithm>

#include "data/augment/policy.h"
#include "data/fields.h"

namespace fovea {
namespace {

constexpr const char* kRandomFilter = "random";  // draws bilinear or bicubic for each image

Access<Field::Numbers> pair(double* low, double* high) {
  return {[=] {
            return Field::Numbers{*low, *high};
          },
          [=](const Field::Numbers& numbers) {
            *low = numbers.at(0);
            *high = numbers.at(1);
          }};
}

Access<std::string> filter_or_random(std::optional<Filter>* filter) {
  return {[=] { return *filter ? name_of(**filter) : kRandomFilter; },
          [=](const std::string& text) { *filter = find_named<Filter>(text); }};
}

Access<Field::Numbers> strengths(ColorJitter* jitter) {
  return {[=]() -> Field::Numbers {
            const auto& [brightness, contrast, saturation, hue] = *jitter;
            if (hue > 0) return {brightness, contrast, saturation, hue};
            if (brightness == contrast && contrast == saturation) return {brightness};
            return {brightness, contrast, saturation};
          },
          [=](const Field::Numbers& x) {
            check_usage(x.size() == 1 || x.size() == 3 || x.size() == 4, "--color-jitter: got ",
                        x.size(), " numbers, expected 1, 3 or 4");
            const bool one = x.size() == 1;
            *jitter = {x[0], one ? x[0] : x[1], one ? x[0] : x[2], x.size() == 4 ? x[3] : 0};
          }};
}

void add_crop_fields(FieldGroup& g, AugmentOptions& options) {
  g.choice(
      "train-crop-mode", &options.crop,
      "pad: random crop of the padded image; rrc: RandomResizedCrop (rrc-once: one attempt); rkrc, "
      "rkrr: keep the aspect ratio, central or random crop; src: resize the shorter side, "
      "pad by 4 reflected pixels, crop; detr: keep the ratio, crop with probability 1/2");
  g.number("crop-padding", &options.crop_padding, "pixels around the image for train-crop-mode pad",
           {0, 1024});
  g.choice("crop-padding-mode", &options.padding,
           "content of the padding: black, or pixels of the image");
  CropRange& range = options.range;
  g.number("scale", pair(&range.scale_low, &range.scale_high),
           "area of random crops, lowest and highest fraction of the image's", {1e-3, 100})
      .count = 2;
  g.number("ratio", pair(&range.ratio_low, &range.ratio_high),
           "aspect ratio of random crops, lowest and highest width / height", {1e-2, 100})
      .count = 2;
  std::vector<std::string> filters = names_of<Filter>();
  filters.emplace_back(kRandomFilter);
  g.choice("train-interpolation", filter_or_random(&options.filter),
           "filter for resizing and geometry in training; random: bilinear or bicubic", filters);
}

void add_color_fields(FieldGroup& g, AugmentOptions& options) {
  g.number("hflip", &options.flip, "probability of a horizontal flip", {0, 1});
  g.number("vflip", &options.vertical_flip, "probability of a vertical flip", {0, 1});
  g.add("aa", &options.policy,
        "augmentation policy: rand-m9-mstd0.5-inc1, original, originalr, v0, v0r, 3a, "
        "augmix-m3-w3, ta_wide; or none");
  g.number("color-jitter", strengths(&options.jitter),
           "strength for brightness, contrast, saturation (and hue): 1, 3 or 4 numbers; 0: off; no "
           "effect with a policy other than 3-Augment's",
           {0, 10});
  g.number("color-jitter-prob", &options.jitter_probability, "probability of color-jitter", {0, 1});
  g.number("grayscale-prob", &options.grayscale, "probability of conversion to gray", {0, 1});
  g.number("gaussian-blur-prob", &options.blur,
           "probability of a blur with a std of 0.1 to 2 pixels", {0, 1});
}

void check_range(const char* flag, double low, double high) {
  check_usage(low <= high, flag, ": got ", low, ",", high, ", expected the lower end first");
}

bool has_policy(const AugmentOptions& options) {
  return !options.policy.empty() && options.policy != "none";
}

}  // namespace

void add_fields(Fields& fields, AugmentOptions& options) {
  FieldGroup g(fields, "Augment");
  add_crop_fields(g, options);
  add_color_fields(g, options);
  EraseOptions& erase = options.erase;
  g.number("reprob", &erase.probability, "probability of random erasing", {0, 1});
  g.choice("remode", &erase.fill,
           "content of erased boxes: the mean colour, one random colour, or noise");
  g.number("recount", &erase.count, "maximum number of boxes erased per image", {1, 100});
}

void add_fields(Fields& fields, MixOptions& options) {
  FieldGroup g(fields, "Regularise");
  g.number("mixup", &options.mixup, "alpha of mixup; 0: off", {0, 1e3});
  g.number("cutmix", &options.cutmix, "alpha of cutmix; 0: off", {0, 1e3});
  g.number("mixup-prob", &options.probability, "probability of mixing a batch", {0, 1});
  g.number("mixup-switch-prob", &options.switch_probability, "probability of cutmix if both are on",
           {0, 1});
  FieldGroup augment(fields, "Augment");
  augment.choice("mixup-mode", &options.mode,
                 "draw mixup and cutmix once per batch, pair or image");
  const Access<Field::Numbers> shares(
      [&options]() -> Field::Numbers {
        if (!options.cutmix_minmax) return {};
        return {options.cutmix_minmax->at(0), options.cutmix_minmax->at(1)};
      },
      [&options](const Field::Numbers& numbers) {
        options.cutmix_minmax.reset();
        if (!numbers.empty()) options.cutmix_minmax = {{numbers.at(0), numbers.at(1)}};
      });
  Field& field =
      augment.number("cutmix-minmax", shares,
                     "minimum and maximum side of cutmix's box, as fractions of the image's side; "
                     "replaces cutmix's alpha",
                     {0, 1});
  field.count = 2;
  field.may_be_empty = true;
}

bool mixes(const MixOptions& options) {
  return options.mixup > 0 || options.cutmix > 0 || options.cutmix_minmax;
}

bool varies(const AugmentOptions& options) {
  const bool jitters = options.jitter_probability > 0 && options.jitter.active();
  return has_policy(options) || jitters || options.grayscale > 0 || options.blur > 0 ||
         options.erase.probability > 0;
}

void check_options(const AugmentOptions& options) {
  const CropRange& range = options.range;
  check_usage(options.jitter.hue <= 0.5, "--color-jitter: got a hue of ", options.jitter.hue,
              ", expected at most 0.5");
  check_range("--scale", range.scale_low, range.scale_high);
  check_range("--ratio", range.ratio_low, range.ratio_high);
  const bool cuts = options.crop == TrainCrop::resized || options.crop == TrainCrop::resized_once;
  check_usage(!cuts || range.scale_high <= 1, "--scale: got ", range.scale_high,
              ", expected at most 1 with --train-crop-mode ", name_of(options.crop));
  if (!has_policy(options)) return;
  const std::optional<Filter> filter = options.filter;
  const bool turns = !filter || filter == Filter::bilinear || filter == Filter::bicubic ||
                     filter == Filter::nearest;
  check_usage(turns, "--train-interpolation: got ", filter ? name_of(*filter) : kRandomFilter,
              ", expected bilinear, bicubic, nearest or random with --aa, which also rotates and "
              "shears");
  try {
    static_cast<void>(parse_augment_policy(options.policy, {}));
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

void check_options(const MixOptions& options) {
  if (!options.cutmix_minmax) return;
  const auto& [low, high] = *options.cutmix_minmax;
  check_usage(low < high, "--cutmix-minmax: got ", low, ",", high,
              ", expected the lower end first");
}

}  // namespace fovea
