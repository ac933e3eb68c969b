// summary MODEL [--img-size N|HxW] [--num-classes N] ...: the tree of a model with output shapes,
// parameters and multiply-adds.
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/app.h"
#include "apps/cli.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "models/summary.h"
#include "settings/model_settings.h"

namespace {

using namespace fovea;
using nlohmann::json;

CommandSpec command(ModelSettings& settings, std::string& classes) {
  CommandSpec spec;
  spec.name = "summary";
  spec.description =
      "The modules of a model with output shapes, parameters and multiply-adds.\n"
      "Models: FAMILY_SIZE_patchP_IMAGE with any P and image; --list-models has the customary "
      "ones.";
  spec.lists_models = true;
  spec.arguments = "MODEL";
  FieldGroup(spec.fields, "Model").add("num-classes", &classes, "logits; 0: no head");
  settings.add_fields(spec.fields);
  return spec;
}

int summary(int argc, char** argv) {
  ModelSettings settings;
  std::string classes;
  const std::vector<std::string> names = parse_into_fields(argc, argv, command(settings, classes));
  if (names.size() != 1) throw UsageError("summary: name one MODEL");
  json overrides = settings.overrides();
  if (!classes.empty()) overrides["num_classes"] = parse_config_value(classes);
  try {
    print_summary(std::cout, *make_model(names.front(), overrides));
  } catch (const Error& error) {  // a name or a setting that does not exist
    throw UsageError(error.what());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, summary); }
