// Golden cases of augmentation: timm's operations at given levels, and the parts of ColorJitter.
#include <algorithm>

#include "data/augment/blur.h"
#include "data/augment/color.h"
#include "data/augment/jitter.h"
#include "data/augment/op.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "tests/parity/image_case.h"

namespace fovea::golden {
namespace {

/// The operation with timm's name `name`, if any.
std::optional<AugmentKind> find_kind(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(AugmentKind::gaussian_blur_rand); ++i) {
    const auto kind = static_cast<AugmentKind>(i);
    if (name_of(kind) == name) return kind;
  }
  return {};
}

/// Checks that our level gives the file's argument, up to rounding.
void check_level(ImageCase& c, AugmentKind kind, double argument, double translate_const) {
  AugmentSettings settings;
  settings.translate_const = translate_const;
  const double sign = c.number("sign", -1, 1);
  const double ours = augment_argument(kind, c.number("level", 0, 100), sign, settings);
  c.compare_number("args", ours, argument, 1e-12);
}

void check_op(ImageCase& c, AugmentKind kind, double translate_const) {
  const std::vector<double> arguments = c.numbers("args");
  check(arguments.size() <= 1, "case ", c.name(), ": got ", arguments.size(),
        " args, expected at most one");
  Sampling sampling;
  if (c.has("interpolation")) sampling.filter = c.filter();
  if (c.has("fill")) sampling.fill = c.color("fill");
  static_cast<void>(c.has("sign"));
  if (c.has("level") && !arguments.empty()) {
    check_level(c, kind, arguments.front(), translate_const);
  }
  const double argument = arguments.empty() ? 0 : arguments.front();
  c.compare(apply_augment(kind, {c.image()}, argument, sampling).image);
}

void check_color_jitter(ImageCase& c) {
  Image image = c.image();
  for (const nlohmann::json& step : c.json("order")) {
    const bool ok =
        step.is_array() && step.size() == 2 && step[0].is_string() && step[1].is_number();
    check(ok, "case ", c.name(), ": order: got ", json_text(step), ", expected [name, factor]");
    const auto kind = parse_name<JitterKind>("color_jitter", step[0].get<std::string>());
    image = apply_jitter(kind, image, step[1].get<double>());
  }
  c.compare(image);
}

}  // namespace

bool check_augmentation(ImageCase& c, double translate_const) {
  const std::string& op = c.op();
  if (const auto kind = find_kind(op)) return check_op(c, *kind, translate_const), true;
  if (const auto kind = find_named<JitterKind>(op)) {
    c.compare(apply_jitter(*kind, c.image(), c.number("factor")));
  } else if (op == "grayscale") {
    c.compare(grayscale(c.image()));
  } else if (op == "solarize") {
    c.compare(solarize(c.image(), static_cast<int>(c.integer("threshold", 0, 256))));
  } else if (op == "gaussian_blur") {
    c.compare(gaussian_blur(c.image(), c.number("radius", 0, 1000)));
  } else if (op == "color_jitter") {
    check_color_jitter(c);
  } else {
    return false;
  }
  return true;
}

}  // namespace fovea::golden
