// Opening data sets, building the model, creating the run's folder.
#include "train/start/setup.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "data/classes/class_match.h"
#include "data/loading/sampler.h"
#include "data/sources/boxes/detection_check.h"
#include "data/sources/boxes/detection_set.h"
#include "data/sources/orientation.h"
#include "data/sources/split_overlap.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "engine/cuda/runtime.h"
#include "models/checkpoints/pretrained.h"
#include "models/registry.h"
#include "ops/matmul.h"
#include "train/start/data_origin.h"
#include "train/start/latent_training.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// Freezes the parameters selected by --freeze and --linear-probe.
void freeze_parameters(const FrozenOptions& options, const Model& model, Notices& notices) {
  const std::vector<std::regex> patterns = options.expressions();
  if (patterns.empty() && !options.all_but_heads) return;
  std::vector<bool> used(patterns.size());
  std::int64_t frozen = 0, left = 0;
  for (const Parameter& p : model.store().parameters()) {
    bool matches = options.all_but_heads && !is_head(p.role);
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
    throw UsageError("--freeze: no parameter name matches expression " + std::to_string(idle + 1) +
                     " of \"" + options.patterns + "\"; " + program_call("summary") +
                     " lists them");
  }
  if (left == 0) throw UsageError("--freeze: no parameters are left to train");
  notices.add("frozen: ", frozen, " parameters; trained: ", left);
}

/// Throws unless each --lr-scale matches a parameter.
void check_rates(const std::vector<NamedRate>& rates, const Model& model) {
  try {
    static_cast<void>(NamedRates(model.store(), rates));
  } catch (const Error& error) {
    throw UsageError(std::string("--lr-scale: ") + error.what());
  }
}

/// The labels that the data set knows without reading its images.
std::set<std::int64_t> labels_listed(const Dataset& images) {
  std::set<std::int64_t> labels;
  for (std::int64_t i = 0; i < images.size(); ++i) {
    ListEntry entry;
    images.list_entry(i, entry);
    if (entry.label >= 0) labels.insert(entry.label);
  }
  return labels;
}

/// The labels of validation images that no training image has, or "".
std::string untrained_labels_notice(const Datasets& data) {
  const std::set<std::int64_t> trained = labels_listed(*data.train);
  const std::vector<std::string>& names = data.train->class_names();
  std::vector<std::string> untrained;
  for (const std::int64_t label : labels_listed(*data.test)) {
    if (trained.contains(label)) continue;
    const auto at = static_cast<std::size_t>(label);
    untrained.push_back(at < names.size() ? names[at] : std::to_string(label));
  }
  if (untrained.empty() || trained.empty()) return "";
  return concat("no training image has the ", untrained.size() == 1 ? "label " : "labels ",
                first_few(untrained), ", which validation images have");
}

}  // namespace

Datasets open_datasets(const TrainConfig& config) {
  DatasetOptions options = dataset_options(config);
  std::shared_ptr<const Dataset> train = open_dataset(options, Split::train);
  const auto boxes = std::dynamic_pointer_cast<const DetectionSet>(train);
  const bool has_boxes = boxes != nullptr;
  if (has_boxes) options.category_ids = boxes->stored_ids().ids();
  check(!options.labelled || !has_boxes, "--dataset ", options.name,
        ": its images have boxes, but ", "no labels; ", program_call("train_detection"),
        " trains a detector on it");
  std::shared_ptr<const Dataset> test = open_dataset(options, Split::test);
  if (options.labelled) {
    const ModelClasses learned{train->classes(), train->class_names()};
    test = match_images(test, learned, !options.class_map.empty(), "the training split").images;
  }
  if (has_boxes) check_same_categories(*boxes, *require_boxes(test, "the test images"));
  return {std::move(train), std::move(test)};
}

Notices data_notices(const TrainConfig& config, const Datasets& data) {
  Notices notices;
  if (dataset_options(config).labelled) notices.add_new(untrained_labels_notice(data));
  if (!task_info(config).has_targets) return notices;
  notices.add_new(split_overlap_notice(*data.test, *data.train));
  notices.add_new(orientation_notice(*data.train, "training images"));
  notices.add_new(orientation_notice(*data.test, "test images"));
  return notices;
}

void fit_batch_to_images(TrainConfig& config, const Dataset& train, Notices& notices) {
  const LoaderOptions& loader = config.images.loader;
  const std::int64_t shown = epoch_size(train.size(), loader.epoch.repeats);
  const std::int64_t recipes = loader.batch_size, steps = config.loop.grad_accum_steps;
  if (recipes <= shown) return;
  std::int64_t fitting = task_info(config).batch_multiple;
  while (2 * fitting * steps <= shown / 4) fitting *= 2;
  if (fitting > shown) return;  // left to check_batch_size()
  apply_settings(config, {{"batch-size", std::to_string(fitting), kDerived}});
  notices.add("--batch-size ", fitting, " instead of the recipe's ", recipes,
              ", because an epoch has ", shown, " images; the peak learning rate is ",
              shortest_text(peak_lr(config)));
}

void check_batch_size(const TrainConfig& config, const Dataset& train) {
  const LoaderOptions& loader = config.images.loader;
  const std::int64_t shown = epoch_size(train.size(), loader.epoch.repeats);
  if (loader.batch_size <= shown) return;
  const std::int64_t multiple = task_info(config).batch_multiple;
  const std::int64_t most = shown / multiple * multiple;
  check_usage(most > 0, "--train-split: got ", shown, " images, expected at least ", multiple,
              ", the smallest batch for this task");
  check_usage(false, "--batch-size: got ", loader.batch_size, ", but an epoch has ", shown,
              " images and training drops an incomplete batch; --batch-size ", most, " fits");
}

std::unique_ptr<Model> build_model(const TrainConfig& config, const Dataset& dataset,
                                   Notices& notices) {
  const std::string& name = config.model.name;
  const Device device = config.run.device;
  require_device(device);
  if (device.is_cuda() && cuda::compute_capability(device.index) < 80) {
    notices.add(device,
                ": attention uses tensor cores from compute capability 8.0 on; this device ",
                "has ", cuda::compute_capability(device.index) / 10.0, " and runs plain kernels");
  }
  ops::allow_tf32(config.run.allow_tf32);
  nlohmann::json overrides = config.model.overrides();
  if (task_info(config).has_data_classes) overrides["num_classes"] = dataset.classes();
  if (!task_info(config).encodes_images) fit_to_latents(overrides, dataset.latents());
  std::unique_ptr<Model> model;
  try {
    model = make_model(name, overrides, config.run.seed, {DType::f32, device});
  } catch (const Error& error) {  // a name, setting or value unknown to the model
    throw UsageError(error.what());
  }
  if (!task_info(config).encodes_images) check_input(*model, dataset.latents());
  const std::int64_t patch = model->tokens().cell;
  const std::int64_t side = dataset.image_size().height;  // 0: images vary in size
  if (patch >= 16 && side > 0 && side <= 32) {
    notices.add(name, ": patches of ", patch, " pixels on images of ", side,
                " are very large; --patch-size 4 is usual for this size");
  }
  freeze_parameters(config.frozen, *model, notices);
  check_rates(config.step.optimizer.named_rates, *model);
  try_training_sizes(config.sizes, *model, name);
  return model;
}

Trainer make_trainer(const TrainConfig& config, Datasets data, std::unique_ptr<Model> model,
                     std::unique_ptr<const Task> task, Communicator& processes) {
  if (task == nullptr) task = make_task(config, *model, data.train.get());
  if (data.test != nullptr) task->require_evaluable(*data.test);
  TrainerOptions options = trainer_options(config);
  options.processes = &processes;
  if (data.test != nullptr) options.settings = settings_with_origin(config, *data.test);
  return {std::move(options), std::move(data), std::move(model), std::move(task)};
}

fs::path make_run_folder(const TrainConfig& config) {
  fs::path folder = config.request.output;
  if (folder.empty()) {
    const fs::path base = fs::path("runs") / (local_time_text(std::time(nullptr), "%Y%m%d-%H%M%S") +
                                              "-" + config.data.name + "-" + config.model.name);
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
