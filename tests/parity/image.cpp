// Golden files of images: results of Pillow, torchvision and timm with all random draws given. u8
// results must be equal, f32 results within 1e-6.
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/names.h"
#include "tests/parity/image_case.h"

namespace fovea::golden {
namespace {

/// Checks that the settings contain only cases and remarks; returns translate_const.
double read_settings(const nlohmann::json& config) {
  const std::vector<std::string> known = {"cases", "image", "images", "stats", "translate_const"};
  for (const auto& entry : config.items()) {
    const bool ok = std::find(known.begin(), known.end(), entry.key()) != known.end();
    check(ok, "config: key ", entry.key(), " is unknown", did_you_mean(entry.key(), known));
  }
  check(config.contains("cases") && config["cases"].is_object(), "config: key cases is missing");
  const nlohmann::json translate = config.value("translate_const", nlohmann::json(250));
  check(translate.is_number(), "config: translate_const: got ", json_text(translate),
        ", expected a number");
  return translate.get<double>();
}

}  // namespace

void check_images(Case& c) {
  const double translate_const = read_settings(c.config);
  if (c.has("labels")) static_cast<void>(c.take("labels"));  // an input that may be unused
  for (const auto& entry : c.config["cases"].items()) {
    ImageCase one(c, entry.key(), entry.value());
    const bool known = check_geometry(one) || check_augmentation(one, translate_const) ||
                       check_mixing(one) || check_values(one);
    check(known, "case ", one.name(), ": op ", one.op(), " is unknown");
    one.finish();
  }
}

}  // namespace fovea::golden
