// evaluate [CHECKPOINT...]: how good trained models are, at which image sizes, and at what they
// fail.
#include <algorithm>
#include <iostream>
#include <optional>

#include "apps/app.h"
#include "apps/cli.h"
#include "apps/console.h"
#include "apps/loading.h"
#include "base/files.h"
#include "data/evaluation.h"
#include "engine/parallel.h"
#include "engine/safetensors.h"
#include "report/evaluations.h"
#include "train/progress.h"

namespace {

using namespace fovea;

struct Request {
  LoadRequest load;
  DatasetOptions data;
  std::string split = "val", data_dir, class_map, output, csv, json, logits;
  std::string precision = "f32", on_bad_image = "stop";
  std::int64_t batch_size = 128, workers = 2, threads = 0;
};

Fields fields_of(Request& r) {
  r.data.name.clear();
  Fields fields;
  FieldGroup data(fields, "Data");
  data.choice("dataset", &r.data.name, "(default: what the checkpoint learned from)",
              dataset_names());
  data.add("data-dir", &r.data_dir,
           "folder that holds it (default: as in training, else $FOVEA_DATA, else ./datasets)");
  data.choice("split", &r.split, "which of its images", {"val", "train"});
  data.add("val-split", &r.data.val_split, "of photographs: folder, tar files or pack below it");
  data.add("train-split", &r.data.train_split, "the same, with --split train");
  data.add("class-map", &r.class_map, "file of class names, one a line, in label order");
  data.add("classes", &r.data.classes, "only these: names or numbers, or how many");
  data.number("fraction", &r.data.fraction, "of the training images of each class", {1e-9, 1});
  data.choice("on-bad-image", &r.on_bad_image, "stop: when more than 1 % are broken; skip: never",
              {"stop", "skip"});
  data.number("batch-size", &r.batch_size, "images of one forward pass", {1, 65536});
  data.number("workers", &r.workers, "threads that prepare batches", {0, 256});
  FieldGroup run(fields, "Run");
  run.add("output", &r.output,
          "folder for tables and pictures (default: beside the weights; of several models or of "
          "training images: none)");
  run.add("csv", &r.csv, "write the table to this file");
  run.add("json", &r.json, "write the table and every class to this file");
  run.add("logits", &r.logits,
          "write \"logits\" [images, classes] to this .safetensors file, for --teacher-logits");
  run.choice("precision", &r.precision, "of activations", {"f32", "bf16"});
  run.number("threads", &r.threads, "for computing; 0: all", {0, 1024});
  add_load_fields(fields, r.load);
  return fields;
}

std::vector<std::string> split_sizes(const std::string& text) {
  std::vector<std::string> sizes(1);
  for (const char c : text) {
    if (c == ',') {
      sizes.emplace_back();
    } else {
      sizes.back() += c;
    }
  }
  const bool gap = sizes.size() > 1 && std::find(sizes.begin(), sizes.end(), "") != sizes.end();
  if (gap) throw UsageError("--img-size: got " + text + ", expected sizes between the commas");
  return sizes;
}

std::shared_ptr<const Dataset> open_split(Request request, const LoadedModel& trained) {
  if (request.data.name.empty() && request.data_dir.empty()) request.data_dir = trained.data_dir;
  if (request.data.name.empty()) request.data.name = trained.info.dataset;
  check(!request.data.name.empty(), trained.weights.string(),
        ": does not say what it was trained on; give --dataset");
  request.data.data_dir = request.data_dir;
  request.data.class_map = request.class_map;
  return open_dataset(request.data, request.split == "train" ? Split::train : Split::test);
}

/// Names say more than numbers: classes in another order would make every result wrong.
void compare_classes(const LoadedModel& trained, const Dataset& images, ProgressLine& line) {
  const std::vector<std::string>& learned = trained.info.classes;
  const std::vector<std::string>& shown = images.class_names();
  if (trained.info.dataset.empty() || learned.size() != shown.size()) return;
  const auto [mine, theirs] = std::mismatch(learned.begin(), learned.end(), shown.begin());
  if (mine == learned.end()) return;
  line.print("note: class " + std::to_string(mine - learned.begin()) + " is \"" + *theirs +
             "\" in the data set, and the model learned it as \"" + *mine +
             "\"; the results mean something only if that is the same");
}

EvaluatedModel evaluate_one(const Request& request, const LoadedModel& trained,
                            const std::shared_ptr<const Dataset>& images, ProgressLine& line) {
  const EvaluationTransform preparation = trained.preparation();
  EvaluateOptions options;
  options.batch_size = request.batch_size;
  options.workers = static_cast<int>(request.workers);
  options.normalization = trained.info.normalization;
  options.crop = trained.info.crop;
  options.activations = parse_dtype(request.precision);
  options.bad_image_limit = request.on_bad_image == "skip" ? 1 : 0.01;
  options.keep_predictions = true;
  options.keep_logits = !request.logits.empty();
  options.on_batch = [&](std::int64_t done) {
    line.update({.label = "evaluating", .done = done, .total = images->size(), .note = {}});
    return true;
  };
  EvaluatedModel model;
  model.result = evaluate(*trained.model, images, options);
  model.result.require_finite(trained.weights.string() + ": ");
  model.checkpoint = trained.weights.string();
  model.model = trained.model->info().name;
  model.dataset = request.data.name.empty() ? trained.info.dataset : request.data.name;
  if (request.split == "train") model.dataset += ", training images";
  model.size = preparation.size;
  model.crop_pct = preparation.crop.crop_pct;
  model.classes = images->class_names();
  return model;
}

/// Where the files about a model go; none: they are not written. Those beside the weights are
/// about the test images.
std::optional<std::filesystem::path> output_folder(const Request& request,
                                                   const EvaluatedModel& model, bool alone) {
  const std::filesystem::path weights = model.checkpoint;
  if (request.output.empty()) {
    if (alone && request.split == "val") return weights.parent_path();
    return std::nullopt;
  }
  if (alone) return request.output;
  std::string name = weights.parent_path().filename().string();
  name += (name.empty() ? "" : "-") + weights.stem().string() + "-" +
          std::to_string(model.size.height) + "x" + std::to_string(model.size.width);
  return std::filesystem::path(request.output) / name;
}

int run(int argc, char** argv) {
  Request request;
  std::vector<std::string> checkpoints = parse_into_fields(
      argc, argv,
      {"evaluate",
       "Measures trained models on the images of a data set. Several checkpoints, and "
       "several\n"
       "sizes (--img-size 224,288), come into one table.",
       "run directories, folders of a hub or weights files (default: the newest under runs/)",
       fields_of(request)});
  if (checkpoints.empty()) checkpoints.emplace_back();
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const std::vector<std::string> sizes = split_sizes(request.load.img_size);
  const bool alone = checkpoints.size() * sizes.size() == 1;
  check_usage(alone || request.logits.empty(), "--logits: got ", checkpoints.size(),
              " checkpoints and ", sizes.size(), " sizes, expected one of each");

  check_usage(
      request.split == "train" || (request.data.fraction == 1 && request.data.train_split.empty()),
      "--train-split and --fraction are about training images: they need --split train");

  ProgressLine line(1);
  std::vector<EvaluatedModel> models;
  for (const std::string& checkpoint : checkpoints) {
    for (const std::string& size : sizes) {
      request.load.checkpoint = checkpoint;
      request.load.img_size = size;
      const LoadedModel trained = load_trained(request.load);
      require_classes(trained);
      for (const std::string& notice : trained.notices) line.print("note: " + notice);
      const std::shared_ptr<const Dataset> images = open_split(request, trained);
      compare_classes(trained, *images, line);
      models.push_back(evaluate_one(request, trained, images, line));
      for (const std::string& bad : models.back().result.bad_images) line.print("broken: " + bad);
      if (alone) line.print(models.back().class_report().table());
      const auto folder = output_folder(request, models.back(), alone);
      if (!folder) continue;
      for (const std::filesystem::path& file :
           write_evaluation(*folder, models.back(), *images, trained.preparation())) {
        line.print("wrote " + file.string());
      }
    }
  }
  line.print("\n" + evaluation_table(models));
  if (!request.csv.empty()) write_file_atomically(request.csv, evaluation_csv(models));
  if (!request.json.empty()) write_file_atomically(request.json, evaluation_json(models));
  if (!request.logits.empty()) {
    write_safetensors(request.logits, {{"logits", models.front().result.logits}});
    line.print("wrote " + request.logits);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, run); }
