// Opening, building, loading.
#include "train/setup.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/parallel.h"
#include "models/cpvt.h"
#include "models/pretrained.h"
#include "models/registry.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void load_initial_weights(const TrainConfig& config, Model& model,
                          std::vector<std::string>& notices) {
  LoadOptions options;
  options.finetune = !config.finetune.empty();
  const std::string& path = options.finetune ? config.finetune : config.initial_checkpoint;
  if (path.empty()) return;
  const LoadReport report = load_weights(model, path, options);
  if (!report.resized.empty()) notices.push_back(path + ": resized " + joined(report.resized));
  if (!report.kept.empty()) {
    notices.push_back(path + ": initial values stay in " + joined(report.kept));
  }
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

}  // namespace

Datasets open_datasets(const TrainConfig& config) {
  DatasetOptions options;
  options.name = config.dataset;
  options.data_dir = config.data_dir;
  return {open_dataset(options, Split::train), open_dataset(options, Split::test)};
}

std::unique_ptr<Model> build_model(const TrainConfig& config, const Dataset& dataset,
                                   std::vector<std::string>& notices) {
  const Device device = parse_device(config.device);
  require_device(device);
  nlohmann::json overrides = nlohmann::json::parse(model_overrides(config));
  overrides["num_classes"] = dataset.classes();
  std::unique_ptr<Model> model;
  try {
    model = make_model(config.model, overrides, static_cast<std::uint64_t>(config.seed),
                       {DType::f32, device});
  } catch (const Error& error) {  // a name, a setting or a value that the model does not know
    throw UsageError(error.what());
  }
  const nlohmann::json settings = nlohmann::json::parse(model->info().config);
  const std::int64_t side = dataset.image_size().height;  // 0: photographs
  if (settings.value("patch_size", 1) >= 16 && side > 0 && side <= 32) {
    notices.push_back(config.model + ": patches of " +
                      std::to_string(settings.value("patch_size", 1)) + " pixels on images of " +
                      std::to_string(side) + " see little; --patch-size 4 is usual here");
  }
  load_initial_weights(config, *model, notices);
  if (!config.peg_load.empty()) load_pegs(*model, config.peg_load);
  return model;
}

fs::path make_run_folder(const TrainConfig& config) {
  fs::path folder = config.output;
  if (folder.empty()) {
    const fs::path base =
        fs::path("runs") / (time_stamp() + "-" + config.dataset + "-" + config.model);
    folder = base;
    for (int i = 2; fs::exists(folder); ++i) folder = base.string() + "-" + std::to_string(i);
  }
  std::error_code error;
  fs::create_directories(folder, error);
  check(!error, "--output: ", folder.string(), " cannot be made: ", error.message());
  return folder;
}

}  // namespace fovea
