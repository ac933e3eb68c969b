// The table of operations: name, level to argument, effect. The levels are timm's
// (data/auto_augment.py), including the order of its roundings.
#include "data/augment/op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "data/augment/blur.h"
#include "data/augment/color.h"

namespace fovea {
namespace {

/// How an operation uses its level. `x` is the level / 10, s the sign.
struct Level {
  double x, sign;
  const AugmentSettings& settings;
};

double none(const Level&) { return 0; }
double degrees(const Level& l) { return l.sign * (l.x * 30); }
double shear(const Level& l) { return l.sign * (l.x * 0.3); }
double pixels(const Level& l) { return l.sign * (l.x * l.settings.translate_const); }
double share(const Level& l) { return l.sign * (l.x * l.settings.translate_pct); }
double bits(const Level& l) { return std::trunc(l.x * 4); }
double bits_increasing(const Level& l) { return 4 - bits(l); }
double bits_original(const Level& l) { return bits(l) + 4; }
double threshold(const Level& l) { return std::min(256.0, std::trunc(l.x * 256)); }
double threshold_increasing(const Level& l) { return 256 - threshold(l); }
double addend(const Level& l) { return std::min(128.0, std::trunc(l.x * 110)); }
double factor(const Level& l) { return l.x * 1.8 + 0.1; }
double factor_increasing(const Level& l) { return std::max(0.1, 1 + l.sign * (l.x * 0.9)); }
double between(const Level& l, double low, double high) {
  return std::clamp(low + (high - low) * l.x, low, high);
}
double gray_share(const Level& l) { return between(l, 0.5, 1); }
double radius(const Level& l) { return between(l, 0.1, 2); }
double radius_share(const Level& l) { return between(l, 0, 1); }

int integer(double argument) { return static_cast<int>(argument); }

struct Row {
  std::string_view name;
  double (*argument)(const Level&);
  bool is_signed, is_geometric;
  Image (*apply)(const Image& image, double argument, const Sampling& sampling);
};

using Picture = const Image&;
using Sampled = const Sampling&;

/// In the order of AugmentKind.
constexpr auto kRows = std::to_array<Row>({
    {"Identity", none, false, false, [](Picture i, double, Sampled) { return i; }},
    {"AutoContrast", none, false, false,
     [](Picture i, double, Sampled) { return auto_contrast(i); }},
    {"Equalize", none, false, false, [](Picture i, double, Sampled) { return equalize(i); }},
    {"Invert", none, false, false, [](Picture i, double, Sampled) { return invert(i); }},
    {"Rotate", degrees, true, true, rotate},
    {"Posterize", bits, false, false,
     [](Picture i, double a, Sampled) { return posterize(i, integer(a)); }},
    {"PosterizeIncreasing", bits_increasing, false, false,
     [](Picture i, double a, Sampled) { return posterize(i, integer(a)); }},
    {"PosterizeOriginal", bits_original, false, false,
     [](Picture i, double a, Sampled) { return posterize(i, integer(a)); }},
    {"Solarize", threshold, false, false,
     [](Picture i, double a, Sampled) { return solarize(i, integer(a)); }},
    {"SolarizeIncreasing", threshold_increasing, false, false,
     [](Picture i, double a, Sampled) { return solarize(i, integer(a)); }},
    {"SolarizeAdd", addend, false, false,
     [](Picture i, double a, Sampled) { return solarize_add(i, integer(a)); }},
    {"Color", factor, false, false,
     [](Picture i, double a, Sampled) { return adjust_saturation(i, a); }},
    {"ColorIncreasing", factor_increasing, true, false,
     [](Picture i, double a, Sampled) { return adjust_saturation(i, a); }},
    {"Contrast", factor, false, false,
     [](Picture i, double a, Sampled) { return adjust_contrast(i, a); }},
    {"ContrastIncreasing", factor_increasing, true, false,
     [](Picture i, double a, Sampled) { return adjust_contrast(i, a); }},
    {"Brightness", factor, false, false,
     [](Picture i, double a, Sampled) { return adjust_brightness(i, a); }},
    {"BrightnessIncreasing", factor_increasing, true, false,
     [](Picture i, double a, Sampled) { return adjust_brightness(i, a); }},
    {"Sharpness", factor, false, false,
     [](Picture i, double a, Sampled) { return adjust_sharpness(i, a); }},
    {"SharpnessIncreasing", factor_increasing, true, false,
     [](Picture i, double a, Sampled) { return adjust_sharpness(i, a); }},
    {"ShearX", shear, true, true, shear_x},
    {"ShearY", shear, true, true, shear_y},
    {"TranslateX", pixels, true, true,
     [](Picture i, double a, Sampled s) { return translate(i, a, 0, s); }},
    {"TranslateY", pixels, true, true,
     [](Picture i, double a, Sampled s) { return translate(i, 0, a, s); }},
    {"TranslateXRel", share, true, true,
     [](Picture i, double a,
        Sampled s) { return translate(i, a * static_cast<double>(i.width), 0, s); }},
    {"TranslateYRel", share, true, true,
     [](Picture i, double a,
        Sampled s) { return translate(i, 0, a * static_cast<double>(i.height), s); }},
    {"Desaturate", gray_share, false, false,
     [](Picture i, double a,
        Sampled) { return adjust_saturation(i, std::clamp(1 - a, 0.0, 1.0)); }},
    {"GaussianBlur", radius, false, false,
     [](Picture i, double a, Sampled) { return gaussian_blur(i, a); }},
    {"GaussianBlurRand", radius_share, false, false,
     [](Picture i, double a, Sampled) { return gaussian_blur(i, a); }},
});

const Row& row_of(AugmentKind kind) { return kRows.at(static_cast<std::size_t>(kind)); }

double draw_level(const AugmentOp& op, const AugmentSettings& settings, Rng& rng) {
  double level = op.magnitude;
  if (std::isinf(settings.magnitude_std)) {
    level = rng.uniform(0, op.magnitude);
  } else if (settings.magnitude_std > 0) {
    level += settings.magnitude_std * rng.normal();
  }
  return std::clamp(level, 0.0, settings.magnitude_max);
}

}  // namespace

AugmentKind parse_augment_kind(std::string_view name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<AugmentKind>(i);
    names.emplace_back(kRows[i].name);
  }
  fail("augmentation: got \"", name, "\"", did_you_mean(name, names));
}

std::string_view name_of(AugmentKind kind) { return row_of(kind).name; }

bool is_signed(AugmentKind kind) { return row_of(kind).is_signed; }

double augment_argument(AugmentKind kind, double level, double sign,
                        const AugmentSettings& settings) {
  return row_of(kind).argument({level / 10, sign, settings});
}

Image apply_augment(AugmentKind kind, const Image& image, double argument,
                    const Sampling& sampling) {
  return row_of(kind).apply(image, argument, sampling);
}

AugmentDraw draw_augment(const AugmentOp& op, const AugmentSettings& settings, Rng& rng) {
  AugmentDraw draw;
  draw.applied = rng.uniform() < op.probability;
  if (!draw.applied) return draw;
  const Row& row = row_of(op.kind);
  draw.level = draw_level(op, settings, rng);
  const double sign = row.is_signed && rng.uniform() < 0.5 ? -1 : 1;
  draw.argument = augment_argument(op.kind, draw.level, sign, settings);
  if (op.kind == AugmentKind::gaussian_blur_rand)
    draw.argument = rng.uniform(0.1, 2 * draw.argument);
  if (row.is_geometric) {
    draw.filter = settings.filter ? *settings.filter
                                  : (rng.uniform() < 0.5 ? Filter::bilinear : Filter::bicubic);
  }
  return draw;
}

Image augment(Image image, const AugmentOp& op, const AugmentSettings& settings, Rng& rng) {
  const AugmentDraw draw = draw_augment(op, settings, rng);
  if (!draw.applied) return image;
  return apply_augment(op.kind, image, draw.argument, {draw.filter, settings.fill});
}

}  // namespace fovea
