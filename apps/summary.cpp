// summary MODEL [--num-classes N] [--img-size N|HxW] ...: the tree of a model with output shapes,
// parameters and multiply-adds. Any setting of the model is a flag.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/config_reader.h"
#include "models/registry.h"
#include "models/summary.h"

namespace {

constexpr const char* kUsage =
    "usage: summary MODEL [--num-classes N] [--img-size N|HxW] [--depth N] [--SETTING VALUE]...\n"
    "Prints the model's modules with output shapes, parameters and multiply-adds for one image.\n"
    "Settings are those of the model's configuration (the last line). Models, e.g.:\n";

struct Arguments {
  std::string model;
  nlohmann::json overrides = nlohmann::json::object();
};

/// "--img-size" names the setting "img_size".
std::string setting_of(std::string flag) {
  flag.erase(0, 2);
  for (char& c : flag) {
    if (c == '-') c = '_';
  }
  return flag;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string flag = words[i];
    if (!flag.starts_with("--")) {
      fovea::check(arguments.model.empty(), "one model at a time, got ", arguments.model, " and ",
                   flag);
      arguments.model = flag;
      continue;
    }
    const std::size_t equals = flag.find('=');
    std::string value;
    if (equals == std::string::npos) {
      fovea::check(i + 1 < words.size(), flag, " needs a value");
      value = words[++i];
    } else {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    arguments.overrides[setting_of(flag)] = fovea::parse_config_value(value);
  }
  fovea::check(!arguments.model.empty(), "no model was named");
  return arguments;
}

void print_usage(std::ostream& out) {
  out << kUsage;
  for (const std::string& name : fovea::model_names()) out << "  " << name << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
      print_usage(std::cout);
      return 0;
    }
    const Arguments arguments = parse(words);
    fovea::print_summary(std::cout, *fovea::make_model(arguments.model, arguments.overrides));
    return 0;
  } catch (const fovea::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  }
}
