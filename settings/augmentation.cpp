// The list of augmentation settings, and their translation.
#include "settings/augmentation.h"

#include <algorithm>

#include "data/augment/policy.h"
#include "data/evaluation_transform.h"
#include "settings/pipeline.h"

namespace fovea {
namespace {

constexpr std::string_view kRandomFilter = "random";  // of training: bilinear or bicubic

std::vector<std::string> filters_and_random() {
  std::vector<std::string> names = names_of<Filter>();
  names.emplace_back(kRandomFilter);
  return names;
}

void add_crop_fields(FieldGroup& g, TrainConfig& c) {
  g.choice("train-crop-mode", &c.train_crop_mode,
           "pad: random place in the padded image; rrc: RandomResizedCrop (rrc-once: one attempt); "
           "rkrc, rkrr: ratio kept, central or random crop; src: shorter side, 4 reflected pixels");
  g.number("crop-padding", &c.crop_padding, "pixels around the image of train-crop-mode pad",
           {0, 1024});
  g.choice("crop-padding-mode", &c.crop_padding_mode, "what they show: black, or the image");
  g.number("scale", &c.scale, "of the random crops: share of the area", {1e-3, 100}).count = 2;
  g.number("ratio", &c.ratio, "of the random crops: width over height", {1e-2, 100}).count = 2;
  g.choice("train-interpolation", &c.train_interpolation,
           "of training's resizing and geometry; random: bilinear or bicubic",
           filters_and_random());
  g.number("crop-pct", &c.crop_pct, "share of the shorter side that evaluation sees", {1e-2, 1});
  g.choice("crop-mode", &c.crop_mode,
           "of evaluation: center, squash, border, or automatic: center, but stretch images of at "
           "most 32 pixels");
  g.choice("interpolation", &c.interpolation, "of evaluation's resizing");
}

void add_color_fields(FieldGroup& g, TrainConfig& c) {
  g.number("hflip", &c.hflip, "probability of mirroring an image", {0, 1});
  g.number("vflip", &c.vflip, "probability of turning it upside down", {0, 1});
  g.add("aa", &c.aa,
        "policy: rand-m9-mstd0.5-inc1, original, originalr, v0, v0r, 3a, augmix-m3-w3, ta_wide; or "
        "none");
  g.number("color-jitter", &c.color_jitter,
           "of brightness, contrast and saturation (and hue): one number or 3 or 4; 0: off; no "
           "effect beside a policy, unless one of 3-Augment's",
           {0, 10});
  g.number("color-jitter-prob", &c.color_jitter_prob, "probability of color-jitter", {0, 1});
  g.number("grayscale-prob", &c.grayscale_prob, "probability of gray", {0, 1});
  g.number("gaussian-blur-prob", &c.gaussian_blur_prob, "probability of a blur of 0.1 to 2 pixels",
           {0, 1});
}

void add_erase_fields(FieldGroup& g, TrainConfig& c) {
  g.number("reprob", &c.reprob, "probability of random erasing", {0, 1});
  g.choice("remode", &c.remode,
           "what erased boxes show: the mean colour, one random colour, noise");
  g.number("recount", &c.recount, "most boxes that are erased in an image", {1, 100});
  g.add("resplit", &c.resplit,
        "no erasing in the first split of each image; without splits: in every second image of the "
        "epoch");
}

void add_split_fields(FieldGroup& g, TrainConfig& c) {
  g.number("aug-splits", &c.aug_splits,
           "rows of an image in its batch: itself cropped and mirrored, and variations of that by "
           "aa and colours; 0: one, varied",
           {0, 16});
}

void add_mix_fields(FieldGroup& g, TrainConfig& c) {
  g.choice("mixup-mode", &c.mixup_mode, "mixup and cutmix draw once per batch, pair or image");
  Field& shares = g.number("cutmix-minmax", &c.cutmix_minmax,
                           "least and largest side of cutmix's box as shares of the image's; "
                           "replaces cutmix's alpha",
                           {0, 1});
  shares.count = 2;
  shares.may_be_empty = true;
}

bool has_policy(const TrainConfig& c) { return !c.aa.empty() && c.aa != "none"; }

ColorJitter jitter_of(const TrainConfig& c) {
  const std::vector<double>& x = c.color_jitter;
  if (x.size() == 1) return {x[0], x[0], x[0], 0};
  return {x.at(0), x.at(1), x.at(2), x.size() > 3 ? x[3] : 0};
}

void check_range(const char* flag, const std::vector<double>& range) {
  check_usage(range[0] <= range[1], flag, ": got ", range[0], ",", range[1],
              ", expected the lower end first");
}

/// Whether there is anything that splits of an image can differ in.
bool varies(const TrainConfig& c) {
  const auto positive = [](double x) { return x > 0; };
  const bool jitters = c.color_jitter_prob > 0 &&
                       std::any_of(c.color_jitter.begin(), c.color_jitter.end(), positive);
  return has_policy(c) || jitters || c.grayscale_prob > 0 || c.gaussian_blur_prob > 0 ||
         c.reprob > 0;
}

void check_splits(const TrainConfig& c) {
  check_usage(c.aug_splits != 1, "--aug-splits: got 1, expected 0 or at least 2");
  check_usage(c.aug_splits == 0 || varies(c), "--aug-splits: got ", c.aug_splits,
              " equal rows of each image; --aa, --color-jitter, --grayscale-prob, "
              "--gaussian-blur-prob or --reprob vary them");
  check_usage(c.aug_splits == 0 || !mixes(c), "--aug-splits: got ", c.aug_splits,
              " with mixing on; expected --mixup 0 --cutmix 0 and no --cutmix-minmax: an image and "
              "its variations would be mixed with others");
  check_usage(!c.resplit || c.reprob > 0, "--resplit is about erasing: it needs --reprob");
}

}  // namespace

void add_augmentation_fields(Fields& fields, TrainConfig& config) {
  FieldGroup group(fields, "Augment");
  add_crop_fields(group, config);
  add_color_fields(group, config);
  add_split_fields(group, config);
  add_erase_fields(group, config);
  add_mix_fields(group, config);
}

AugmentOptions augment_options(const TrainConfig& c) {
  AugmentOptions options;
  options.crop = c.train_crop_mode;
  options.crop_padding = c.crop_padding;
  options.padding = c.crop_padding_mode;
  options.range = {c.scale.at(0), c.scale.at(1), c.ratio.at(0), c.ratio.at(1)};
  options.filter = find_named<Filter>(c.train_interpolation);  // none of kRandomFilter
  options.flip = c.hflip;
  options.vertical_flip = c.vflip;
  options.normalization = normalization_of(c);
  if (has_policy(c)) options.policy = c.aa;
  options.jitter = jitter_of(c);
  options.jitter_probability = c.color_jitter_prob;
  options.grayscale = c.grayscale_prob;
  options.blur = c.gaussian_blur_prob;
  options.erase.probability = c.reprob;
  options.erase.fill = c.remode;
  options.erase.count = c.recount;
  return options;
}

EvaluationCrop evaluation_crop(const TrainConfig& c) {
  return {c.crop_pct, c.crop_mode, c.interpolation};
}

std::int64_t splits_of(const TrainConfig& config) {
  return std::max<std::int64_t>(1, config.aug_splits);
}

bool mixes(const TrainConfig& config) {
  return config.mixup > 0 || config.cutmix > 0 || !config.cutmix_minmax.empty();
}

bool mixes(const TrainConfig& config, std::int64_t epoch) {
  return mixes(config) && (config.mixup_off_epoch == 0 || epoch < config.mixup_off_epoch);
}

MixOptions mix_options(const TrainConfig& config, std::int64_t classes) {
  MixOptions options;
  options.mixup = config.mixup;
  options.cutmix = config.cutmix;
  options.probability = config.mixup_prob;
  options.switch_probability = config.mixup_switch_prob;
  options.smoothing = config.smoothing;
  options.classes = classes;
  options.mode = config.mixup_mode;
  if (!config.cutmix_minmax.empty()) {
    options.cutmix_minmax = {{config.cutmix_minmax.at(0), config.cutmix_minmax.at(1)}};
  }
  return options;
}

void check_augmentation(const TrainConfig& c) {
  const std::size_t widths = c.color_jitter.size();
  check_usage(widths == 1 || widths == 3 || widths == 4, "--color-jitter: got ", widths,
              " numbers, expected 1, 3 or 4");
  check_usage(widths < 4 || c.color_jitter[3] <= 0.5, "--color-jitter: got a hue of ",
              widths < 4 ? 0 : c.color_jitter[3], ", expected at most 0.5");
  check_range("--scale", c.scale);
  check_range("--ratio", c.ratio);
  const bool cuts =
      c.train_crop_mode == TrainCrop::resized || c.train_crop_mode == TrainCrop::resized_once;
  check_usage(!cuts || c.scale[1] <= 1, "--scale: got ", c.scale[1],
              ", expected at most 1 with --train-crop-mode ", name_of(c.train_crop_mode));
  if (!c.cutmix_minmax.empty()) {
    check_usage(c.cutmix_minmax[0] < c.cutmix_minmax[1], "--cutmix-minmax: got ",
                c.cutmix_minmax[0], ",", c.cutmix_minmax[1], ", expected the lower end first");
  }
  check_splits(c);
  check_usage(!mixes(c) || c.batch_size % 2 == 0, "--batch-size: got ", c.batch_size,
              ", expected an even number: mixup and cutmix pair the images of a batch");
  if (!has_policy(c)) return;
  const std::vector<std::string> geometric = {"bilinear", "bicubic", "nearest", "random"};
  check_usage(
      std::find(geometric.begin(), geometric.end(), c.train_interpolation) != geometric.end(),
      "--train-interpolation: got ", c.train_interpolation,
      ", expected bilinear, bicubic, nearest or random beside --aa: it also turns and shears");
  try {
    static_cast<void>(parse_augment_policy(c.aa, {}));
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace fovea
