// Finding and loading a trained model by the user's arguments.
#include "apps/common/loading.h"

#include <nlohmann/json.hpp>

#include "apps/common/computing.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/names.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/weights_folder.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "train/run/run_paths.h"
#include "train/start/data_origin.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path newest_run() {
  fs::path newest;
  fs::file_time_type best{};
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("runs", none)) {
    fs::path weights = RunPaths{entry.path()}.weights("last");
    if (!fs::exists(weights)) weights = RunPaths{entry.path()}.weights("best");
    if (!fs::exists(weights) || (!newest.empty() && fs::last_write_time(weights) <= best)) continue;
    newest = entry.path();
    best = fs::last_write_time(weights);
  }
  check(!newest.empty(), "no checkpoint was given, and runs/ has no run with a finished epoch; ",
        program_call("train_cifar"), " creates one");
  return newest;
}

/// A copy of a run may have its best weights alone.
bool is_run(const fs::path& folder) {
  const RunPaths run{folder};
  return fs::exists(run.weights("last")) || fs::exists(run.weights("best"));
}

/// A run keeps averages in a file of their own, other programs in the same file.
WeightsKey key_of(const LoadRequest& request) {
  WeightsKey key(request.weights_key, request.key_is_shared);
  key.is_averaged =
      request.use_ema && !request.checkpoint.empty() && !fs::is_directory(request.checkpoint);
  key.prefers_averaged = request.prefers_ema;
  return key;
}

fs::path weights_path(const LoadRequest& request) {
  const fs::path given = request.checkpoint.empty() ? newest_run() : fs::path(request.checkpoint);
  check(fs::exists(given), given.string(),
        ": does not exist, expected a run directory, a hub folder or a weights file");
  if (!is_run(given) && !request.use_ema && !request.last) return weights_in(given);
  if (!fs::is_directory(given)) return given;
  const std::string kind = request.use_ema ? "_ema" : "";
  fs::path file = RunPaths{given}.weights((request.last ? "last" : "best") + kind);
  if (!fs::exists(file)) file = RunPaths{given}.weights("last" + kind);  // during its first epoch
  check(fs::exists(file), file.string(), ": does not exist",
        request.use_ema ? "; was the run trained with --model-ema?" : "; is this a run directory?");
  return file;
}

/// A note that says where the relative data folder `given` of a run lies; "" if that is clear.
std::string note_of_folder(const fs::path& given, const fs::path& then, const fs::path& taken) {
  std::error_code none;
  if (then.empty() || given.is_absolute() || fs::equivalent(given, then, none)) return {};
  if (taken == then) {
    return concat("the images are those of ", then.string(), ", as in training; --data-dir ",
                  given.string(), " takes those from here");
  }
  const std::string gone = concat("the images of training, in ", then.string(), ", are gone");
  if (!fs::exists(taken, none)) return gone;
  return concat(gone, "; taking those of ", fs::absolute(taken).lexically_normal().string());
}

/// Takes the usual data folder if the run's is gone and the usual one exists; else errors name the
/// run's.
void replace_gone_folder(RunData& run) {
  std::error_code none;
  const fs::path recorded = run.options.data_dir;
  if (recorded.empty() || fs::exists(recorded, none)) return;
  run.options.data_dir.clear();
  if (!fs::is_directory(data_folder(run.options), none)) {
    run.options.data_dir = recorded;
  } else if (run.note.empty()) {
    run.note = concat("the images of training, in ", recorded.string(), ", are gone; taking those ",
                      "of ", data_folder(run.options).string());
  }
}

/// Weights alone know what was held out.
void read_data_of_run(LoadedModel& loaded) {
  if (loaded.info.held_out) {
    const HoldOut& how = loaded.info.held_out->how;
    loaded.run.options.val_fraction = how.fraction;
    loaded.run.options.val_rule = how.rule;
    loaded.run.options.val_seed = how.seed;
  }
  if (std::optional<RunData> run = data_of_run(loaded.weights)) {
    if (!run->error.empty()) run->options = loaded.run.options;
    loaded.run = std::move(*run);
  }
}

ModelRequest model_request(const LoadRequest& request, const Checkpoint& file) {
  ModelRequest wanted;
  wanted.name = request.model;
  wanted.num_classes = request.num_classes;
  const auto head = file.tensors.find("head.weight");
  const auto labels = file.tensors.find("y_embedder.embedding_table.weight");
  wanted.norms_pooled = file.tensors.contains("fc_norm.weight");  // MAE's fine-tuned classifiers
  const bool counts = !request.model.empty() && request.num_classes == 0;
  if (counts && head != file.tensors.end() && head->second.rank() == 2) {
    wanted.num_classes = head->second.size(0);
  }
  if (counts && labels != file.tensors.end() && labels->second.rank() == 2) {
    wanted.num_classes = labels->second.size(0) - 1;  // without the null class
  }
  json settings = request.model.empty() ? json::object() : parse_json(file.settings);
  settings.update(json::parse(model_settings(request)));
  wanted.settings = json_text(settings);
  const Device device = parse_device(request.device);
  start_computing(device);
  wanted.options = {DType::f32, device};
  return wanted;
}

std::string channels_text(const char* what, const std::array<float, 3>& values,
                          const std::array<float, 3>& of_imagenet) {
  if (values == of_imagenet) return concat("the ", what, " of ImageNet");
  return concat("the ", what, " ", values[0], ", ", values[1], ", ", values[2]);
}

/// What of the preprocessing neither the file nor a flag states; empty if both leave nothing open.
std::string assumed_text(const LoadedModel& loaded, const Metadata& metadata,
                         const LoadRequest& request) {
  if (metadata.contains("config") || !request.images) return {};
  const HubConfig hub = find_hub_config(loaded.weights).value_or(HubConfig{});
  const bool mean = !hub.has_mean && request.images->mean.empty();
  const bool deviation = !hub.has_std && request.images->std.empty();
  const Normalization& used = loaded.info.normalization;
  std::vector<std::string> assumed;
  const bool is_imagenets = used.mean == kImageNetNormalization.mean &&
                            used.deviation == kImageNetNormalization.deviation;
  if (mean && deviation && is_imagenets) {
    assumed.emplace_back("the mean and std of ImageNet");
  } else {
    if (mean) assumed.push_back(channels_text("mean", used.mean, kImageNetNormalization.mean));
    if (deviation) {
      assumed.push_back(channels_text("std", used.deviation, kImageNetNormalization.deviation));
    }
  }
  if (!hub.has_crop && !request.images->crop_pct) {
    assumed.push_back("a crop-pct of " + shortest_text(loaded.info.crop.crop_pct));
  }
  return join(assumed, " and ");
}

std::vector<std::string> notices_of(const LoadedModel& loaded, const Checkpoint& file,
                                    const LoadReport& report, const LoadRequest& request) {
  std::vector<std::string> notices;
  const std::string path = loaded.weights.string() + ": ";
  const std::string assumed = assumed_text(loaded, file.metadata, request);
  if (!assumed.empty()) {
    notices.push_back(path + "does not specify its preprocessing in full; using " + assumed);
  }
  for (const std::string& note : file.notes) notices.push_back(path + note);
  for (const std::string& note : report.notes) notices.push_back(path + note);
  return notices;
}

/// Names the classes "class 0" and so on if the file has no names.
void name_classes(LoadedModel& loaded) {
  std::vector<std::string>& names = loaded.info.classes;
  const std::int64_t classes = loaded.model->info().num_classes;
  check(names.empty() || classes == 0 || std::ssize(names) == classes, loaded.weights.string(),
        ": names ", names.size(), " classes, expected ", classes, ", the size of its head");
  loaded.names_classes = !names.empty();
  for (std::int64_t k = std::ssize(names); k < classes; ++k) {
    names.push_back(numbered_class(k));
  }
}

}  // namespace

std::optional<RunData> data_of_run(const fs::path& weights) {
  const RunPaths paths{weights.parent_path()};
  if (!is_run(paths.folder) || !fs::exists(paths.config())) return {};
  RunData run;
  try {
    const std::string settings = read_file(paths.config());
    const TrainConfig config = saved_config(settings, paths.config().string());
    run.options = dataset_options(config);
    run.test_list = test_list_in(settings);
    const DatasetOptions as_given{.data_dir = parse_json(settings).value("data-dir", "")};
    run.note =
        note_of_folder(data_folder(as_given), data_folder_in(settings), data_folder(config.data));
    replace_gone_folder(run);
  } catch (const Error& error) {
    run.error = error.what();
  }
  return run;
}

std::string model_settings(const LoadRequest& request) {
  json settings = json::object();
  if (!request.model_args.empty()) settings = parse_config_value(request.model_args);
  check_usage(settings.is_object(), "--model-args: got ", request.model_args,
              ", expected a JSON object like {\"mask_ratio\": 0.5}");
  if (request.num_classes > 0) settings["num_classes"] = request.num_classes;
  if (request.img_size.empty()) return json_text(settings);
  const json size = parse_config_value(request.img_size);
  const bool pair = size.is_array() && size.size() == 2;
  check_usage(pair || size.is_number_unsigned(), "--img-size: got ", request.img_size,
              ", expected N or HxW");
  settings["img_size"] = pair ? size : json{size, size};
  return json_text(settings);
}

std::string LoadedModel::title() const {
  const fs::path folder = weights.parent_path();
  if (!is_run(folder)) return weights.filename().string();
  const std::string name = fs::absolute(folder).lexically_normal().filename().string();
  return weights.stem() == "best" ? name : name + ", " + weights.stem().string();
}

ModelClasses LoadedModel::classes() const {
  const std::int64_t count = model->info().num_classes;
  if (!names_classes) return {count};
  return {count, info.classes, info.labels};
}

EvaluationTransform LoadedModel::preparation() const {
  const auto [height, width] = model->info().img_size;
  return {{height, width}, info.normalization, info.crop};
}

bool is_checkpoint(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) return is_run(path) || find_hub_weights(path);
  const std::string ending = lowercase_ending(path.string());
  return fs::exists(path, none) &&
         (ending == ".safetensors" || ending == ".pth" || ending == ".pt");
}

TaskKind task_of(const LoadRequest& request) {
  if (!request.model.empty()) return task_of(request.model);
  const json config = parse_json(value_or(read_metadata(weights_path(request)), "config", "{}"));
  const std::string family = config.is_object() ? config.value("family", "") : "";
  return task_of_family(family).value_or(TaskKind::classification);
}

LoadedModel load_trained(const LoadRequest& request) {
  LoadedModel loaded;
  loaded.weights = weights_path(request);
  const Checkpoint file = read_checkpoint(loaded.weights, key_of(request));
  loaded.model = make_model_of(file.metadata, loaded.weights, model_request(request, file));
  LoadOptions how;
  apply(request.positions, how);
  how.all_names = request.verbose;
  const WeightsOrigin origin = origin_of(file.metadata, loaded.weights, request.model);
  LoadReport report;
  try {
    report = load_state(*loaded.model, file.tensors, origin, how);
  } catch (const Error& error) {
    fail(loaded.weights.string(), ": ", error.what());
  }
  loaded.info = weights_info(file.metadata, loaded.weights);
  if (request.images) request.images->apply(loaded.info);
  loaded.notices = notices_of(loaded, file, report, request);
  read_data_of_run(loaded);
  name_classes(loaded);
  return loaded;
}

void require_classes(const LoadedModel& loaded) {
  const ModelInfo& model = loaded.model->info();
  const std::string uses = other_uses(model.task);
  check(model.num_classes > 0 && uses.empty(), loaded.weights.string(), ": ", model.name, " is ",
        noun_of(model.task), ", expected a classifier", uses.empty() ? "" : "; ", uses);
  check(model.in_chans == Image::kChannels, loaded.weights.string(), ": in_chans: got ",
        model.in_chans, ", expected ", Image::kChannels, ", because pictures are read as RGB");
}

void add_weights_fields(Fields& fields, LoadRequest& r) {
  FieldGroup g(fields, "Model");
  g.add("use-ema", &r.use_ema, "use the averaged weights");
  g.add("last", &r.last, "use the last weights instead of the best");
  g.add("img-size", &r.img_size, "input size, N or HxW (default: as trained)");
  g.add("model", &r.model, "model name, for a file that does not record it");
  g.add("model-args", &r.model_args,
        "JSON object of model settings that override the checkpoint's");
  add_fields(g, r.positions);
  g.add("weights-key", &r.weights_key,
        "which weights to read from a file with several sets: model, model_ema, teacher.backbone, "
        "...");
  g.add("verbose", &r.verbose, "in errors, list all names of weights that do not fit");
  g.number("num-classes", &r.num_classes,
           "classes of a file that does not record its model (default: from its head)", {0, 1e6});
  g.add("device", &r.device, "cpu, cuda or cuda:N");
}

void add_load_fields(Fields& fields, LoadRequest& r) {
  add_weights_fields(fields, r);
  add_fields(fields, r.images.emplace());
}

}  // namespace fovea
