// Data sets, model, folder.
#include "train/start/setup.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "ops/matmul.h"
#include "settings/pipeline.h"
#include "train/start/run_options.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// Fixes the parameters that --freeze and --linear-probe name.
void freeze_parameters(const TrainConfig& config, const Model& model,
                       std::vector<std::string>& notices) {
  const std::vector<std::regex> patterns = frozen_patterns(config);
  if (patterns.empty() && !config.linear_probe) return;
  std::vector<bool> used(patterns.size());
  std::int64_t frozen = 0, left = 0;
  for (const Parameter& p : model.store().parameters()) {
    bool matches = config.linear_probe && !is_head(p.role);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!std::regex_search(p.name, patterns[i])) continue;
      used[i] = true;
      matches = true;
    }
    if (!p.tensor.requires_grad()) continue;
    ++(matches ? frozen : left);
    if (matches) p.tensor.set_requires_grad(false);
  }
  const auto idle = std::find(used.begin(), used.end(), false) - used.begin();
  if (idle < std::ssize(used)) {
    throw UsageError("--freeze: no parameter's name has a match for expression " +
                     std::to_string(idle + 1) + " of \"" + config.freeze +
                     "\"; ./run summary lists them");
  }
  if (left == 0) throw UsageError("--freeze: nothing is left to train");
  notices.push_back("frozen: " + std::to_string(frozen) + " parameters; " + std::to_string(left) +
                    " are trained");
}

}  // namespace

DatasetOptions dataset_options(const TrainConfig& config) {
  DatasetOptions options;
  options.name = config.dataset;
  options.data_dir = config.data_dir;
  options.train_split = config.train_split;
  options.val_split = config.val_split;
  options.class_map = config.class_map;
  options.index_cache = config.index_cache;
  options.labelled = task_info(config).classifies;
  options.classes = config.classes;
  options.fraction = config.fraction;
  options.fraction_rule = config.fraction_rule;
  return options;
}

Datasets open_datasets(const TrainConfig& config) {
  const DatasetOptions options = dataset_options(config);
  return {open_dataset(options, Split::train), open_dataset(options, Split::test)};
}

std::unique_ptr<Model> build_model(const TrainConfig& config, const Dataset& dataset,
                                   std::vector<std::string>& notices) {
  const Device device = parse_device(config.device);
  require_device(device);
  ops::allow_tf32(config.allow_tf32);
  nlohmann::json overrides = nlohmann::json::parse(model_overrides(config));
  if (task_info(config).classifies) overrides["num_classes"] = dataset.classes();
  std::unique_ptr<Model> model;
  try {
    model = make_model(config.model, overrides, seed_of(config), {DType::f32, device});
  } catch (const Error& error) {  // a name, a setting or a value that the model does not know
    throw UsageError(error.what());
  }
  const std::int64_t patch = model->tokens().cell;
  const std::int64_t side = dataset.image_size().height;  // 0: photographs
  if (patch >= 16 && side > 0 && side <= 32) {
    notices.push_back(config.model + ": patches of " + std::to_string(patch) +
                      " pixels on images of " + std::to_string(side) +
                      " see little; --patch-size 4 is usual here");
  }
  freeze_parameters(config, *model, notices);
  try_training_sizes(training_sizes(config), *model, config.model);
  return model;
}

Trainer make_trainer(const TrainConfig& config, Datasets data, std::unique_ptr<Model> model) {
  std::unique_ptr<const Task> task = make_task(config, *model, data.train->size());
  return {trainer_options(config), std::move(data), std::move(model), std::move(task)};
}

fs::path make_run_folder(const TrainConfig& config) {
  fs::path folder = config.output;
  if (folder.empty()) {
    const fs::path base = fs::path("runs") / (local_time_text(std::time(nullptr), "%Y%m%d-%H%M%S") +
                                              "-" + config.dataset + "-" + config.model);
    folder = base;
    for (int i = 2; fs::exists(folder); ++i) folder = base.string() + "-" + std::to_string(i);
  }
  try {
    make_folder(folder);
  } catch (const Error& error) {
    fail("--output: ", error.what());
  }
  return folder;
}

}  // namespace fovea
