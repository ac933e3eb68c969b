// The table of operations: name, level to argument, effect. The levels are timm's
// (data/auto_augment.py), including the order of roundings.
#include "data/augment/op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "data/augment/blur.h"
#include "data/augment/color.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/names.h"

namespace fovea {
namespace {

/// The inputs of a level function: `x` is the level / 10, s the sign.
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

using Picture = const Image&;
using Move = Geometry (*)(ImageSize size, double argument, const Sampling& sampling);

struct OpRow {
  std::string_view name;
  double (*argument)(const Level&);
  bool is_signed;
  Image (*recolor)(Picture image, double argument);  ///< null: a geometric operation
  Move move = nullptr;
};

/// In the order of AugmentKind.
constexpr auto kRows = std::to_array<OpRow>({
    {"Identity", none, false, [](Picture i, double) { return i; }},
    {"AutoContrast", none, false, [](Picture i, double) { return auto_contrast(i); }},
    {"Equalize", none, false, [](Picture i, double) { return equalize(i); }},
    {"Invert", none, false, [](Picture i, double) { return invert(i); }},
    {"Rotate", degrees, true, nullptr, rotation},
    {"Posterize", bits, false, [](Picture i, double a) { return posterize(i, integer(a)); }},
    {"PosterizeIncreasing", bits_increasing, false,
     [](Picture i, double a) { return posterize(i, integer(a)); }},
    {"PosterizeOriginal", bits_original, false,
     [](Picture i, double a) { return posterize(i, integer(a)); }},
    {"Solarize", threshold, false, [](Picture i, double a) { return solarize(i, integer(a)); }},
    {"SolarizeIncreasing", threshold_increasing, false,
     [](Picture i, double a) { return solarize(i, integer(a)); }},
    {"SolarizeAdd", addend, false, [](Picture i, double a) { return solarize_add(i, integer(a)); }},
    {"Color", factor, false, adjust_saturation},
    {"ColorIncreasing", factor_increasing, true, adjust_saturation},
    {"Contrast", factor, false, adjust_contrast},
    {"ContrastIncreasing", factor_increasing, true, adjust_contrast},
    {"Brightness", factor, false, adjust_brightness},
    {"BrightnessIncreasing", factor_increasing, true, adjust_brightness},
    {"Sharpness", factor, false, adjust_sharpness},
    {"SharpnessIncreasing", factor_increasing, true, adjust_sharpness},
    {"ShearX", shear, true, nullptr,
     [](ImageSize, double a, const Sampling& s) { return shear_x(a, s); }},
    {"ShearY", shear, true, nullptr,
     [](ImageSize, double a, const Sampling& s) { return shear_y(a, s); }},
    {"TranslateX", pixels, true, nullptr,
     [](ImageSize, double a, const Sampling& s) { return translation(a, 0, s); }},
    {"TranslateY", pixels, true, nullptr,
     [](ImageSize, double a, const Sampling& s) { return translation(0, a, s); }},
    {"TranslateXRel", share, true, nullptr,
     [](ImageSize size, double a,
        const Sampling& s) { return translation(a * static_cast<double>(size.width), 0, s); }},
    {"TranslateYRel", share, true, nullptr,
     [](ImageSize size, double a,
        const Sampling& s) { return translation(0, a * static_cast<double>(size.height), s); }},
    {"Desaturate", gray_share, false,
     [](Picture i, double a) { return adjust_saturation(i, std::clamp(1 - a, 0.0, 1.0)); }},
    {"GaussianBlur", radius, false, gaussian_blur},
    {"GaussianBlurRand", radius_share, false, gaussian_blur},
});

const OpRow& row_of(AugmentKind kind) { return kRows.at(static_cast<std::size_t>(kind)); }

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

Sample apply_augment(AugmentKind kind, Sample sample, double argument, const Sampling& sampling) {
  const OpRow& row = row_of(kind);
  if (row.move != nullptr) {
    const Geometry move = row.move(sample.image.size(), argument, sampling);
    return moved(std::move(sample), move);
  }
  sample.image = row.recolor(sample.image, argument);
  return sample;
}

AugmentDraw draw_augment(const AugmentOp& op, const AugmentSettings& settings, Rng& rng) {
  AugmentDraw draw;
  draw.applied = rng.uniform() < op.probability;
  if (!draw.applied) return draw;
  const OpRow& row = row_of(op.kind);
  draw.level = draw_level(op, settings, rng);
  const double sign = row.is_signed && rng.uniform() < 0.5 ? -1 : 1;
  draw.argument = augment_argument(op.kind, draw.level, sign, settings);
  if (op.kind == AugmentKind::gaussian_blur_rand)
    draw.argument = rng.uniform(0.1, 2 * draw.argument);
  if (row.move != nullptr) {
    draw.filter = settings.filter ? *settings.filter
                                  : (rng.uniform() < 0.5 ? Filter::bilinear : Filter::bicubic);
  }
  return draw;
}

Sample augment(Sample sample, const AugmentOp& op, const AugmentSettings& settings, Rng& rng) {
  const AugmentDraw draw = draw_augment(op, settings, rng);
  if (!draw.applied) return sample;
  return apply_augment(op.kind, std::move(sample), draw.argument, {draw.filter, settings.fill});
}

}  // namespace fovea
