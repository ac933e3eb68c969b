// TrivialAugment, "wide": the ranges of torchvision's TrivialAugmentWide.
#include <array>
#include <cmath>
#include <utility>

#include "data/augment/policy.h"

namespace fovea {
namespace {

/// The argument takes 31 equally spaced values between `from` and `to`; if `truncated`, as
/// integers.
struct Range {
  AugmentKind kind;
  double from, to;
  bool is_signed = false, truncated = false;
};

constexpr std::int64_t kSteps = 31;

/// Enhancement ranges are for factor - 1.
constexpr auto kRanges = std::to_array<Range>({{AugmentKind::identity, 0, 0},
                                               {AugmentKind::shear_x, 0, 0.99, true},
                                               {AugmentKind::shear_y, 0, 0.99, true},
                                               {AugmentKind::translate_x, 0, 32, true, true},
                                               {AugmentKind::translate_y, 0, 32, true, true},
                                               {AugmentKind::rotate, 0, 135, true},
                                               {AugmentKind::brightness, 0, 0.99, true},
                                               {AugmentKind::color, 0, 0.99, true},
                                               {AugmentKind::contrast, 0, 0.99, true},
                                               {AugmentKind::sharpness, 0, 0.99, true},
                                               {AugmentKind::posterize, 8, 2},
                                               {AugmentKind::solarize, 255, 0},
                                               {AugmentKind::auto_contrast, 0, 0},
                                               {AugmentKind::equalize, 0, 0}});

bool is_factor(AugmentKind kind) {
  return kind == AugmentKind::brightness || kind == AugmentKind::color ||
         kind == AugmentKind::contrast || kind == AugmentKind::sharpness;
}

}  // namespace

TrivialAugment::Draw TrivialAugment::draw(Rng& rng) {
  const Range& range = kRanges[static_cast<std::size_t>(rng.below(std::ssize(kRanges)))];
  const auto step = static_cast<double>(rng.below(kSteps)) / (kSteps - 1);
  double argument = range.from + (range.to - range.from) * step;
  if (range.kind == AugmentKind::posterize) argument = std::round(argument);
  if (range.truncated) argument = std::trunc(argument);
  if (range.is_signed && rng.uniform() < 0.5) argument = -argument;
  return {range.kind, is_factor(range.kind) ? 1 + argument : argument};
}

Sample TrivialAugment::operator()(Sample sample, Rng& rng) const {
  const Draw drawn = draw(rng);
  const Filter random = rng.uniform() < 0.5 ? Filter::bilinear : Filter::bicubic;
  return apply_augment(drawn.kind, std::move(sample), drawn.argument,
                       {settings.filter.value_or(random), settings.fill});
}

}  // namespace fovea
