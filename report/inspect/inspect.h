// Analyses of a model by name. Each writes pictures (SVG, PNG) and their values (CSV). Formulas and
// sample calls: docs/inspect.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/geometry/evaluation_transform.h"
#include "engine/base/fields.h"
#include "models/model.h"
#include "report/inspect/attention_maps.h"
#include "report/inspect/images.h"

namespace fovea {

/// Command line settings. Selections of blocks, heads and queries stay texts until the model is
/// known.
struct InspectOptions {
  std::string output{};  ///< folder; set before run_inspection()
  std::string images{}, dataset{}, data_dir{};
  std::int64_t count = 0;  ///< number of images; 0: the analysis's default
  std::int64_t batch_size = 8;
  std::string query = "center", layers{}, layer{}, head = "all";
  bool matrix = false, init = false, grid = false, region_mean = false;
};
/// Fields of the settings.
[[nodiscard]] Fields fields_of(InspectOptions& options);

struct Inspection {
  Model* model = nullptr;  ///< null if the analysis needs none
  std::string source{};    ///< source of the weights, for titles
  Normalization normalization = kCifarNormalization;
  std::vector<std::string> classes{};  ///< the model's class names
  EvaluationCrop crop{};               ///< resizing and cropping of pictures to the model's size
  DatasetOptions data{};  ///< whose test images are shown, unless options.images is set
  InspectOptions options{};
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
  std::function<void(const std::string& table)> print{};  ///< prints a small table on the terminal
};

/// The names of the analyses, each with one line of help.
[[nodiscard]] std::string inspect_help();
[[nodiscard]] bool is_analysis(const std::string& name);
/// True if the analysis needs a model. Throws UsageError on an unknown name.
[[nodiscard]] bool needs_model(const std::string& name, const InspectOptions& options);
/// Runs an analysis and returns the paths of its files. Throws Error if the model does not support
/// it, with the reason and the models that do; UsageError on an invalid choice.
std::vector<std::filesystem::path> run_inspection(const std::string& name, const Inspection& what);

}  // namespace fovea
