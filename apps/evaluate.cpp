// evaluate [CHECKPOINT...]: how good trained models are, at which image sizes, and at what they
// fail.
#include <algorithm>
#include <functional>
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
#include "report/measured_bias.h"
#include "train/progress.h"

namespace {

using namespace fovea;

struct Request {
  std::vector<std::string> checkpoints;
  LoadRequest load;
  DatasetOptions data;
  std::string split = "val", data_dir, class_map, output, csv, json, logits, shape_bias;
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
  data.add("class-map", &r.class_map,
           "file of class names, one a line, in label order; with --shape-bias of categories, "
           "\"cat: 281 282 ...\"");
  data.add("classes", &r.data.classes, "only these: names or numbers, or how many");
  data.number("fraction", &r.data.fraction, "of the training images of each class", {1e-9, 1});
  data.choice("fraction-rule", &r.data.fraction_rule, "which: drawn, or the first of each class");
  data.choice("on-bad-image", &r.on_bad_image, "stop: when more than 1 % are broken; skip: never",
              {"stop", "skip"});
  data.number("batch-size", &r.batch_size, "images of one forward pass", {1, 65536});
  data.number("workers", &r.workers, "threads that prepare batches", {0, 256});
  FieldGroup cues(fields, "Shape or texture");
  cues.add("shape-bias", &r.shape_bias,
           "which of them decides where they disagree: a folder of SHAPE/SHAPEn-TEXTUREm.png, or "
           "builtin: drawn pictures, for models of that set");
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

EvaluateOptions options_of(const Request& request, const LoadedModel& trained) {
  EvaluateOptions options;
  options.batch_size = request.batch_size;
  options.workers = static_cast<int>(request.workers);
  options.normalization = trained.info.normalization;
  options.crop = trained.info.crop;
  options.activations = parse_dtype(request.precision);
  options.bad_image_limit = request.on_bad_image == "skip" ? 1 : 0.01;
  return options;
}

EvaluatedModel evaluate_one(const Request& request, const LoadedModel& trained,
                            const std::shared_ptr<const Dataset>& images, ProgressLine& line) {
  const EvaluationTransform preparation = trained.preparation();
  EvaluateOptions options = options_of(request, trained);
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
                                                   const LoadedModel& trained, bool alone) {
  const std::filesystem::path& weights = trained.weights;
  if (request.output.empty()) {
    if (alone && request.split == "val") return weights.parent_path();
    return std::nullopt;
  }
  if (alone) return request.output;
  const ImageSize size = trained.preparation().size;
  std::string name = weights.parent_path().filename().string();
  name += (name.empty() ? "" : "-") + weights.stem().string() + "-" + std::to_string(size.height) +
          "x" + std::to_string(size.width);
  return std::filesystem::path(request.output) / name;
}

/// Loads each checkpoint at each size, one after another.
void for_each_model(Request& request, ProgressLine& line,
                    const std::function<void(const LoadedModel&)>& use) {
  const std::vector<std::string> sizes = split_sizes(request.load.img_size);
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

void keep_logits(const Request& request, const Tensor& logits, ProgressLine& line) {
  if (request.logits.empty()) return;
  write_safetensors(request.logits, {{"logits", logits}});
  line.print("wrote " + request.logits);
}

void evaluate_models(Request request, bool alone) {
  ProgressLine line(1);
  std::vector<EvaluatedModel> models;
  for_each_model(request, line, [&](const LoadedModel& trained) {
    const std::shared_ptr<const Dataset> images = open_split(request, trained);
    compare_classes(trained, *images, line);
    models.push_back(evaluate_one(request, trained, images, line));
    for (const std::string& bad : models.back().result.bad_images) line.print("broken: " + bad);
    if (alone) line.print(models.back().class_report().table());
    const auto folder = output_folder(request, trained, alone);
    if (!folder) return;
    print_files(write_evaluation(*folder, models.back(), *images, trained.preparation()), line);
  });
  line.print("\n" + evaluation_table(models));
  if (!request.csv.empty()) write_file_atomically(request.csv, evaluation_csv(models));
  if (!request.json.empty()) write_file_atomically(request.json, evaluation_json(models));
  keep_logits(request, models.front().result.logits, line);
}

MeasuredBias measure_one(const Request& request, const LoadedModel& trained, ProgressLine& line) {
  const EvaluationTransform preparation = trained.preparation();
  const ShownCues shown = open_cues({request.shape_bias, request.class_map}, trained.info.classes);
  const std::string notice = shown.cues.images->notice();
  if (!notice.empty()) line.print("note: " + notice);
  EvaluateOptions options = options_of(request, trained);
  options.on_batch = [&](std::int64_t done) {
    line.update({.label = "evaluating", .done = done, .total = shown.cues.size(), .note = {}});
    return true;
  };
  MeasuredBias model;
  model.responses = respond(*trained.model, shown.cues, shown.categories, options);
  model.responses.require_finite(trained.weights.string() + ": ");
  model.checkpoint = trained.weights.string();
  model.model = trained.model->info().name;
  model.images = request.shape_bias;
  model.size = preparation.size;
  model.crop_pct = preparation.crop.crop_pct;
  model.cues = shown.cues;
  return model;
}

void measure_shape_bias(Request request, bool alone) {
  ProgressLine line(1);
  std::vector<MeasuredBias> models;
  for_each_model(request, line, [&](const LoadedModel& trained) {
    models.push_back(measure_one(request, trained, line));
    const MeasuredBias& model = models.back();
    for (const std::string& bad : model.responses.bad_images) line.print("broken: " + bad);
    if (alone) line.print(model.bias().table());
    const auto folder = output_folder(request, trained, alone);
    if (folder) print_files(write_bias(*folder, model), line);
  });
  line.print("\n" + bias_table(models));
  if (!request.csv.empty()) write_file_atomically(request.csv, bias_csv(models));
  keep_logits(request, models.front().responses.logits, line);
}

void check_request(const Request& r, bool alone) {
  check_usage(alone || r.logits.empty(), "--logits: got ", r.checkpoints.size(),
              " checkpoints and ", split_sizes(r.load.img_size).size(),
              " sizes, expected one of each");
  check_usage(r.split == "train" || (r.data.fraction == 1 && r.data.train_split.empty()),
              "--train-split and --fraction are about training images: they need --split train");
  if (r.shape_bias.empty()) return;
  const bool brings_images = r.data.name.empty() && r.data_dir.empty() && r.split == "val" &&
                             r.data.val_split.empty() && r.data.classes.empty();
  check_usage(brings_images,
              "--shape-bias: names the pictures itself, expected no --dataset, --data-dir, "
              "--split, --val-split or --classes beside it");
  check_usage(r.json.empty(), "--json: --shape-bias writes no JSON; --csv FILE has its table");
}

int run(int argc, char** argv) {
  Request request;
  request.checkpoints = parse_into_fields(
      argc, argv,
      {"evaluate",
       "Measures trained models on the images of a data set. Several checkpoints, and "
       "several\n"
       "sizes (--img-size 224,288), come into one table.",
       "run directories, folders of a hub or weights files (default: the newest under runs/)",
       fields_of(request)});
  if (request.checkpoints.empty()) request.checkpoints.emplace_back();
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const std::size_t sizes = split_sizes(request.load.img_size).size();
  const bool alone = request.checkpoints.size() * sizes == 1;
  check_request(request, alone);
  request.shape_bias.empty() ? evaluate_models(request, alone) : measure_shape_bias(request, alone);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, run); }
