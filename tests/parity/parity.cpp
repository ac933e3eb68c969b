// parity [--device cpu|cuda] [--precision f64|f32|bf16] [--dump DIR] FILE...: checks the project
// against golden files, one line per file. Exit code 1 if any check fails.
#include <iostream>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "tests/parity/golden.h"

namespace {

using namespace fovea;

int parity(int argc, char** argv) {
  std::string device = "cpu", precision = "f64", dump;
  CommandSpec spec;
  spec.name = "parity";
  spec.description =
      "Compares every tensor of golden files (reference values from the official implementations)\n"
      "with fovea's result.";
  spec.arguments = "FILE...";
  spec.fields = {
      {.name = "device", .group = "Run", .target = &device, .help = "cpu, cuda or cuda:N"},
      {.name = "precision",
       .group = "Run",
       .target = &precision,
       .help = "precision of the computation; the files contain f64",
       .choices = {"f64", "f32", "bf16"}},
      {.name = "dump",
       .group = "Run",
       .target = &dump,
       .help = "folder for fovea's outputs, one .safetensors per FILE"},
  };
  const std::vector<std::string> files = parse_into_fields(argc, argv, spec);
  if (files.empty()) throw UsageError("parity: name at least one FILE");

  const golden::Options options{parse_device(device), golden::parse_precision(precision), dump};
  start_computing(options.device);
  bool ok = true;
  for (const std::string& file : files) {
    const golden::Report report = golden::check_file(file, options);
    golden::print(std::cout, report);
    std::cout.flush();
    ok = ok && report.ok();
  }
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, parity); }
