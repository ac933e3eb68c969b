// evaluate [CHECKPOINT...]: accuracy and mistakes of trained models, at one or several image sizes.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "apps/common/cli.h"
#include "apps/common/console.h"
#include "apps/common/launch.h"
#include "apps/common/progress_line.h"
#include "apps/evaluate_request.h"
#include "apps/tasks/evaluate_depth.h"
#include "apps/tasks/evaluate_detection.h"
#include "engine/base/files.h"
#include "engine/comm/local_device.h"
#include "engine/formats/safetensors.h"
#include "engine/parallel.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "report/evaluations.h"
#include "report/measured_bias.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/stored_logits.h"

namespace fovea::programs {
namespace {

/// Prints each distinct note once, even if several models or sizes share it.
class Notes {
 public:
  explicit Notes(ProgressLine& line) : line_(line) {}

  void add(const std::string& note) {
    if (!note.empty() && told_.insert(note).second) line_.print("note: " + note);
  }
  void add(const LoadedModel& trained, const MatchedImages& shown) {
    add(shown.images->notice());
    add(match_notice(trained.classes(), shown.data, shown.match));
  }

 private:
  ProgressLine& line_;
  std::set<std::string> told_;
};

EvaluatedModel evaluate_one(const EvaluateRequest& request, const LoadedModel& trained,
                            const MatchedImages& shown, ProgressLine& line) {
  const std::shared_ptr<const Dataset>& images = shown.images;
  const EvaluationTransform preparation = trained.preparation();
  ClassifierOptions options = request.options(trained);
  options.keep_predictions = true;
  options.keep_logits = !request.logits.empty();
  options.on_batch = [&](std::int64_t done) {
    line.update({.label = "evaluating", .done = done, .total = images->size(), .note = {}});
    return true;
  };
  EvaluatedModel model;
  model.result = evaluate(model_as<Classifier>(*trained.model), images, options);
  model.result.pass.require_finite(trained.weights.string() + ": ");
  model.checkpoint = trained.weights.string();
  model.model = trained.model->info().name;
  model.dataset = request.data.name.empty() ? trained.info.dataset : request.data.name;
  if (request.split == "train") model.dataset += ", training images";
  model.size = preparation.size;
  model.crop_pct = preparation.crop.crop_pct;
  model.classes = images->class_names();
  model.data_classes = shown.data.names;
  model.match = shown.match;
  return model;
}

/// Folder for the files about a model; empty: none are written. Files in the weights' own folder
/// describe the test images only.
std::optional<std::filesystem::path> output_folder(const EvaluateRequest& request,
                                                   const LoadedModel& trained, bool alone) {
  const std::filesystem::path& weights = trained.weights;
  if (request.output.empty()) {
    if (alone && request.split == "val") return weights.parent_path();
    return std::nullopt;
  }
  if (alone) return request.output;
  const ImageSize size = trained.preparation().size;
  std::string name = weights.parent_path().filename().string();
  name += (name.empty() ? "" : "-") + weights.stem().string() + "-" + to_string(size);
  return std::filesystem::path(request.output) / name;
}

/// Loads each checkpoint at each size in turn.
void for_each_model(EvaluateRequest& request, ProgressLine& line,
                    const std::function<void(const LoadedModel&)>& use) {
  const std::vector<std::string> sizes = request.sizes();
  request.load.key_is_shared = request.checkpoints.size() > 1;
  for (const std::string& checkpoint : request.checkpoints) {
    for (const std::string& size : sizes) {
      request.load.checkpoint = checkpoint;
      request.load.img_size = size;
      const LoadedModel trained = load_trained(request.load);
      require_classes(trained);
      for (const std::string& notice : trained.notices) line.print("note: " + notice);
      use(trained);
    }
  }
}

void print_files(const std::vector<std::filesystem::path>& files, ProgressLine& line) {
  for (const std::filesystem::path& file : files) line.print("wrote " + file.string());
}

void print_broken(const EvaluationPass& pass, ProgressLine& line) {
  for (const BrokenImage& image : pass.bad_images) line.print("broken: " + image.message);
}

void keep_logits(const EvaluateRequest& request, const Tensor& logits, const Metadata& images,
                 ProgressLine& line) {
  if (request.logits.empty()) return;
  write_safetensors(request.logits, {{"logits", logits}}, images);
  line.print("wrote " + request.logits);
}

void evaluate_models(EvaluateRequest request, bool alone) {
  ProgressLine line(1);
  Notes notes(line);
  std::vector<EvaluatedModel> models;
  Metadata which_images;
  for_each_model(request, line, [&](const LoadedModel& trained) {
    const MatchedImages shown = request.open_images(trained);
    if (!request.logits.empty()) which_images = request.logits_metadata(trained, shown);
    notes.add(trained, shown);
    models.push_back(evaluate_one(request, trained, shown, line));
    print_broken(models.back().result.pass, line);
    if (alone) line.print(models.back().class_report().table());
    const auto folder = output_folder(request, trained, alone);
    if (!folder || !request.processes->is_first()) return;
    print_files(write_evaluation(*folder, models.back(), *shown.images, trained.preparation()),
                line);
  });
  line.print("\n" + evaluation_table(models));
  if (!request.processes->is_first()) return;
  if (!request.csv.empty()) write_file_atomically(request.csv, evaluation_csv(models));
  if (!request.json.empty()) write_file_atomically(request.json, evaluation_json(models));
  keep_logits(request, models.front().result.logits, which_images, line);
}

MeasuredBias measure_one(const EvaluateRequest& request, const LoadedModel& trained, Notes& notes,
                         ProgressLine& line) {
  const EvaluationTransform preparation = trained.preparation();
  const CueRequest wanted{request.shape_bias, request.class_map};
  const ShownCues shown = open_cues(wanted, trained.classes());
  notes.add(shown.cues.images->notice());
  notes.add(categories_notice(wanted, trained.classes(), shown.categories));
  EvaluateOptions options = request.options(trained);
  options.on_batch = [&](std::int64_t done) {
    line.update({.label = "evaluating", .done = done, .total = shown.cues.size(), .note = {}});
    return true;
  };
  MeasuredBias model;
  model.responses =
      respond(model_as<Classifier>(*trained.model), shown.cues, shown.categories, options);
  model.responses.pass.require_finite(trained.weights.string() + ": ");
  model.checkpoint = trained.weights.string();
  model.model = trained.model->info().name;
  model.images = request.shape_bias;
  model.size = preparation.size;
  model.crop_pct = preparation.crop.crop_pct;
  model.cues = shown.cues;
  model.classes = trained.info.classes;
  if (!request.class_map.empty()) model.categories_by = "class map";
  return model;
}

void measure_shape_bias(EvaluateRequest request, bool alone) {
  ProgressLine line(1);
  Notes notes(line);
  std::vector<MeasuredBias> models;
  for_each_model(request, line, [&](const LoadedModel& trained) {
    models.push_back(measure_one(request, trained, notes, line));
    const MeasuredBias& model = models.back();
    print_broken(model.responses.pass, line);
    if (alone) line.print(model.bias().table());
    const auto folder = output_folder(request, trained, alone);
    if (folder && request.processes->is_first()) print_files(write_bias(*folder, model), line);
  });
  line.print("\n" + bias_table(models));
  if (!request.processes->is_first()) return;
  if (!request.csv.empty()) write_file_atomically(request.csv, bias_csv(models));
  keep_logits(request, models.front().responses.logits, classes_metadata(models.front().classes),
              line);
}

int evaluate_all(const Launch& launch, int argc, char** argv) {
  EvaluateRequest request;
  request.processes = &launch.processes;
  request.checkpoints = parse_into_fields(
      argc, argv,
      {"evaluate",
       "Evaluates trained models on the images of a data set. Several checkpoints and several\n"
       "sizes (--img-size 224,288) share one table.",
       "run directories, hub folders or weights files (default: the newest under runs/)",
       fields_of(request)});
  if (request.checkpoints.empty()) request.checkpoints.emplace_back();
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  check_request(request);
  std::string& device = request.load.device;
  device = to_string(local_device(parse_device(device), launch.processes));
  if (request.task() == TaskKind::detection) {
    evaluate_detectors(request);
    return 0;
  }
  if (request.task() == TaskKind::depth) {
    evaluate_depths(request);
    return 0;
  }
  require_no_protocol(request);
  const bool alone = request.is_alone();
  request.shape_bias.empty() ? evaluate_models(request, alone) : measure_shape_bias(request, alone);
  return 0;
}

}  // namespace

int evaluate(int argc, char** argv) {
  return run_in_processes(argc, argv,
                          [&](const Launch& launch) { return evaluate_all(launch, argc, argv); });
}

}  // namespace fovea::programs
