// Analyses of a model by name, each of which writes pictures (SVG, PNG) and their numbers (CSV).
// Formulas and sample calls: docs/inspect.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/output_folder.h"
#include "data/evaluation_transform.h"
#include "inspect/attention_maps.h"
#include "inspect/images.h"
#include "models/model.h"

namespace fovea {

/// What the command line says. Texts that choose something are read when the model is known.
struct InspectOptions {
  std::string output = "inspect";
  std::string images{}, dataset{}, data_dir{};
  std::int64_t count = 0;  ///< images; 0: as many as the analysis likes
  std::int64_t batch_size = 8;
  std::string query = "center", layers{}, layer{}, head = "all";
  bool matrix = false, init = false, grid = false, region_mean = false;
};
/// The settings as flags.
[[nodiscard]] Fields fields_of(InspectOptions& options);

struct Inspection {
  Model* model = nullptr;  ///< null where the analysis needs none
  std::string source{};    ///< where its weights come from, for titles
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};  ///< how pictures come to the model's size
  InspectOptions options{};
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
  std::function<void(const std::string& table)> print{};  ///< few numbers, for the terminal
};

/// The names of the analyses with a line of help each.
[[nodiscard]] std::string inspect_help();
[[nodiscard]] bool is_analysis(const std::string& name);
/// Whether this one can be asked without a model. Throws UsageError on an unknown name.
[[nodiscard]] bool needs_model(const std::string& name, const InspectOptions& options);
/// Runs it and returns what it wrote. Throws Error when the model cannot answer, saying why and
/// what could; UsageError on a choice that does not exist.
std::vector<std::filesystem::path> run_inspection(const std::string& name, const Inspection& what);

}  // namespace fovea
