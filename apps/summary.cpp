// summary MODEL [--img-size N|HxW] [--num-classes N] ...: the tree of a model with output shapes,
// parameters and multiply-adds.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/app.h"
#include "apps/cli.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "models/summary.h"

namespace {

using namespace fovea;
using nlohmann::json;

/// The flags that are settings of a model by another spelling: img-size is img_size.
struct Flag {
  const char *name, *help;
};
constexpr Flag kFlags[] = {
    {"img-size", "of the images, N or HxW"}, {"patch-size", "of the square patches"},
    {"in-chans", "channels of the images"},  {"num-classes", "logits; 0: no head"},
    {"embed-dim", "width of the tokens"},    {"depth", "blocks"},
    {"num-heads", "of the attention"},       {"mlp-ratio", "hidden over token width"},
    {"global-pool", "token or avg"},         {"pos-embed", "learned, sincos or none"},
};

CommandSpec command(std::string& text) {
  CommandSpec spec;
  spec.name = "summary";
  spec.description =
      "The modules of a model with output shapes, parameters and multiply-adds.\n"
      "Models: FAMILY_SIZE_patchP_IMAGE with any P and image, e.g.\n";
  for (const std::string& name : model_names()) spec.description += "  " + name + "\n";
  spec.arguments = "MODEL";
  for (const Flag& flag : kFlags) {
    spec.fields.push_back(
        {.name = flag.name, .group = "Model", .target = &text, .help = flag.help});
  }
  spec.fields.push_back({.name = "model-args",
                         .group = "Model",
                         .target = &text,
                         .help = "more settings, as a JSON object"});
  return spec;
}

json overrides_of(const std::vector<Setting>& settings) {
  json overrides = json::object();
  for (const Setting& setting : settings) {
    const json value = parse_config_value(setting.text);
    if (setting.name == "model-args") {
      check(value.is_object(), "--model-args: got ", setting.text, ", expected a JSON object");
      overrides.update(value);
      continue;
    }
    std::string key = setting.name;
    std::replace(key.begin(), key.end(), '-', '_');
    overrides[key] = value;
  }
  return overrides;
}

int summary(int argc, char** argv) {
  std::string unused;
  const CommandLine line = parse_command_line(argc, argv, command(unused));
  if (line.arguments.size() != 1) throw UsageError("summary: name one MODEL");
  try {
    print_summary(std::cout, *make_model(line.arguments.front(), overrides_of(line.settings)));
  } catch (const Error& error) {  // a name or a setting that does not exist
    throw UsageError(error.what());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, summary); }
