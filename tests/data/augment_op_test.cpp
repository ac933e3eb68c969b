// timm's operations: levels, names, and how often and how strongly they are applied.
#include "data/augment/op.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "engine/base/error.h"
#include "tests/data/hash.h"
#include "tests/data/statistics.h"

namespace fovea {
namespace {

using tests::is_share;
using tests::kDraws;
using tests::Moments;

/// The arguments, signs and filters of many uses of an operation.
struct Uses {
  std::int64_t applied = 0, negative = 0, bilinear = 0;
  Moments levels, arguments;
  double least_level = 1e9, most_level = -1e9;
};

Uses use(const AugmentOp& op, const AugmentSettings& settings, std::uint64_t seed) {
  Rng rng(seed);
  Uses uses;
  for (int i = 0; i < kDraws; ++i) {
    const AugmentDraw draw = draw_augment(op, settings, rng);
    if (!draw.applied) continue;
    ++uses.applied;
    uses.negative += draw.argument < 0;
    uses.bilinear += draw.filter == Filter::bilinear;
    uses.levels.add(draw.level);
    uses.arguments.add(draw.argument);
    uses.least_level = std::min(uses.least_level, draw.level);
    uses.most_level = std::max(uses.most_level, draw.level);
  }
  return uses;
}

}  // namespace

TEST_CASE("the levels are timm's") {
  struct Row {
    const char* name;
    double level, sign, argument;
  };
  // Made with timm's *_level_to_arg; levels that are no integers show where they are cut off.
  const Row rows[] = {
      {"Rotate", 9, 1, 27},
      {"Rotate", 9, -1, -27},
      {"ShearX", 10, -1, -0.3},
      {"TranslateXRel", 9, 1, 0.405},
      {"TranslateY", 4, -1, -40},
      {"Posterize", 9, 1, 3},
      {"Posterize", 4.9, 1, 1},
      {"PosterizeIncreasing", 9, 1, 1},
      {"PosterizeIncreasing", 13, 1, -1},
      {"PosterizeOriginal", 9, 1, 7},
      {"Solarize", 9, 1, 230},
      {"Solarize", 12, 1, 256},
      {"SolarizeIncreasing", 9, 1, 26},
      {"SolarizeIncreasing", 12, 1, 0},
      {"SolarizeAdd", 9, 1, 99},
      {"SolarizeAdd", 12, 1, 128},
      {"Color", 9, 1, 1.72},
      {"ContrastIncreasing", 9, 1, 1.81},
      {"SharpnessIncreasing", 9, -1, 0.19},
      {"BrightnessIncreasing", 10.5, -1, 0.1},
      {"Desaturate", 10, 1, 1},
      {"Desaturate", 0, 1, 0.5},
      {"GaussianBlur", 10, 1, 2},
      {"GaussianBlurRand", 10, 1, 1},
  };
  AugmentSettings settings;
  settings.translate_const = 100;
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const AugmentKind kind = parse_augment_kind(row.name);
    CHECK(name_of(kind) == row.name);
    CHECK(augment_argument(kind, row.level, row.sign, settings) ==
          doctest::Approx(row.argument).epsilon(1e-12));
  }
  CHECK_THROWS_WITH_AS((void)parse_augment_kind("Posterise"),
                       "augmentation: got \"Posterise\"; did you mean Posterize?", Error);
}

TEST_CASE("an operation is applied with its probability") {
  for (const double probability : {0.25, 0.5, 0.8}) {
    const Uses uses = use({AugmentKind::rotate, probability, 9}, {}, 1);
    CAPTURE(probability);
    CHECK(is_share(uses.applied, kDraws, probability));
  }
  CHECK(use({AugmentKind::rotate, 0, 9}, {}, 2).applied == 0);
  CHECK(use({AugmentKind::rotate, 1, 9}, {}, 2).applied == kDraws);
}

TEST_CASE("half of the signs are negative, where there is one") {
  for (const char* name : {"Rotate", "ShearX", "ShearY", "TranslateX", "TranslateYRel"}) {
    const AugmentKind kind = parse_augment_kind(name);
    CHECK(is_signed(kind));
    CHECK(is_share(use({kind, 1, 9}, {}, 3).negative, kDraws, 0.5));
  }
  // Factors turn below 1 instead: 1 +- 0.81.
  const Uses factors = use({AugmentKind::color_increasing, 1, 9}, {}, 4);
  CHECK(factors.arguments.mean() == doctest::Approx(1).epsilon(0.06));
  CHECK(factors.arguments.deviation() == doctest::Approx(0.81).epsilon(0.01));
  const Uses plain = use({AugmentKind::color, 1, 9}, {}, 4);
  CHECK(plain.arguments.mean() == doctest::Approx(1.72));
  CHECK(plain.arguments.deviation() < 1e-6);
}

TEST_CASE("levels vary normally around the magnitude, inside their range") {
  AugmentSettings settings;
  settings.magnitude_std = 0.5;
  const Uses uses = use({AugmentKind::rotate, 1, 6}, settings, 5);
  CHECK(uses.levels.mean() == doctest::Approx(6).epsilon(0.006));
  CHECK(uses.levels.deviation() == doctest::Approx(0.5).epsilon(0.05));
  CHECK(uses.most_level > 7);
  const Uses high = use({AugmentKind::rotate, 1, 9.8}, settings, 5);
  CHECK(high.most_level == 10);
  const Uses low = use({AugmentKind::rotate, 1, 0.2}, settings, 5);
  CHECK(low.least_level == 0);
  settings.magnitude_max = 20;
  CHECK(use({AugmentKind::rotate, 1, 9.8}, settings, 5).most_level > 10.5);
}

TEST_CASE("without deviation the level is the magnitude, with an infinite one it is uniform") {
  CHECK(use({AugmentKind::rotate, 1, 6}, {}, 6).levels.deviation() < 1e-6);
  AugmentSettings settings;
  settings.magnitude_std = std::numeric_limits<double>::infinity();
  const Uses uses = use({AugmentKind::rotate, 1, 8}, settings, 6);
  CHECK(uses.levels.mean() == doctest::Approx(4).epsilon(0.04));
  CHECK(uses.levels.deviation() == doctest::Approx(8 / std::sqrt(12.0)).epsilon(0.04));
  CHECK(uses.most_level < 8);
}

TEST_CASE("geometry is sampled by the filter that is set, or by one of two at random") {
  AugmentSettings settings;
  CHECK(is_share(use({AugmentKind::shear_x, 1, 9}, settings, 7).bilinear, kDraws, 0.5));
  settings.filter = Filter::bicubic;
  CHECK(use({AugmentKind::shear_x, 1, 9}, settings, 7).bilinear == 0);
  settings.filter = Filter::bilinear;
  CHECK(use({AugmentKind::shear_x, 1, 9}, settings, 7).bilinear == kDraws);
}

TEST_CASE("3-Augment's blur has a radius of 0.1 to 2") {
  const Uses uses = use({AugmentKind::gaussian_blur_rand, 1, 10}, {}, 8);
  CHECK(uses.arguments.mean() == doctest::Approx(1.05).epsilon(0.03));
  CHECK(uses.arguments.deviation() == doctest::Approx(1.9 / std::sqrt(12.0)).epsilon(0.04));
}

TEST_CASE("a use is a function of image and rng, and fills with the settings' colour") {
  const Image image = tests::sample_image();
  AugmentSettings settings;
  settings.fill = {1, 2, 3};
  settings.translate_pct = 1;
  Rng a(9, 1), b(9, 1);
  const AugmentOp op{AugmentKind::translate_x_rel, 1, 10};
  const Image moved = augment({image}, op, settings, a).image;
  CHECK(moved == augment({image}, op, settings, b).image);
  CHECK(moved.at(5, 6)[2] == 3);
}

}  // namespace fovea
