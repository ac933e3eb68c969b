// parity [--device cpu|cuda] [--precision f64|f32|bf16] FILE...: compares the project with golden
// files. One line per file; exit code 1 when any fails, 2 on wrong usage.
#include <iostream>
#include <string>
#include <vector>

#include "engine/check.h"
#include "train/golden/golden.h"

namespace {

constexpr const char* kUsage =
    "usage: parity [--device cpu|cuda] [--precision f64|f32|bf16] FILE...\n"
    "Compares every tensor of golden files with the project's own (DESIGN sections 3 and 5).\n";

struct Arguments {
  fovea::golden::Options options;
  std::vector<std::string> files;
  bool help = false;
};

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string flag = words[i], value;
    if (flag == "--help" || flag == "-h") arguments.help = true;
    if (!flag.starts_with("--") || flag == "--help") {
      if (flag != "--help" && flag != "-h") arguments.files.push_back(flag);
      continue;
    }
    const std::size_t equals = flag.find('=');
    if (equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    } else {
      fovea::check(i + 1 < words.size(), flag, " needs a value");
      value = words[++i];
    }
    if (flag == "--device") {
      arguments.options.device = fovea::parse_device(value);
    } else if (flag == "--precision") {
      arguments.options.precision = fovea::golden::parse_precision(value);
    } else {
      fovea::fail(flag, " is not known, expected --device or --precision");
    }
  }
  fovea::check(arguments.help || !arguments.files.empty(), "no file was named");
  return arguments;
}

int run(const Arguments& arguments) {
  bool ok = true;
  for (const std::string& file : arguments.files) {
    const fovea::golden::Report report = fovea::golden::check_file(file, arguments.options);
    fovea::golden::print(std::cout, report);
    ok = ok && report.ok();
  }
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse({argv + 1, argv + argc});
    if (!arguments.help) return run(arguments);
    std::cout << kUsage;
    return 0;
  } catch (const fovea::Error& error) {
    std::cerr << "error: " << error.what() << '\n' << kUsage;
    return 2;
  }
}
