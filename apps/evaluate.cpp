// evaluate [CHECKPOINT...]: how good trained models are, at which image sizes, and at what they
// fail.
#include <algorithm>
#include <functional>
#include <optional>

#include "apps/app.h"
#include "apps/cli.h"
#include "apps/console.h"
#include "apps/evaluate_request.h"
#include "apps/progress_line.h"
#include "base/files.h"
#include "engine/parallel.h"
#include "formats/safetensors.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "report/evaluations.h"
#include "report/measured_bias.h"

namespace {

using namespace fovea;

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

EvaluatedModel evaluate_one(const EvaluateRequest& request, const LoadedModel& trained,
                            const std::shared_ptr<const Dataset>& images, ProgressLine& line) {
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
  return model;
}

/// Where the files about a model go; none: they are not written. Those beside the weights are
/// about the test images.
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

/// Loads each checkpoint at each size, one after another.
void for_each_model(EvaluateRequest& request, ProgressLine& line,
                    const std::function<void(const LoadedModel&)>& use) {
  const std::vector<std::string> sizes = request.sizes();
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
  std::vector<EvaluatedModel> models;
  Metadata which_images;
  for_each_model(request, line, [&](const LoadedModel& trained) {
    const std::shared_ptr<const Dataset> images = request.open_images(trained);
    if (!request.logits.empty()) which_images = request.logits_metadata(trained, *images);
    compare_classes(trained, *images, line);
    models.push_back(evaluate_one(request, trained, images, line));
    print_broken(models.back().result.pass, line);
    if (alone) line.print(models.back().class_report().table());
    const auto folder = output_folder(request, trained, alone);
    if (!folder) return;
    print_files(write_evaluation(*folder, models.back(), *images, trained.preparation()), line);
  });
  line.print("\n" + evaluation_table(models));
  if (!request.csv.empty()) write_file_atomically(request.csv, evaluation_csv(models));
  if (!request.json.empty()) write_file_atomically(request.json, evaluation_json(models));
  keep_logits(request, models.front().result.logits, which_images, line);
}

MeasuredBias measure_one(const EvaluateRequest& request, const LoadedModel& trained,
                         ProgressLine& line) {
  const EvaluationTransform preparation = trained.preparation();
  const ShownCues shown = open_cues({request.shape_bias, request.class_map}, trained.info.classes);
  const std::string notice = shown.cues.images->notice();
  if (!notice.empty()) line.print("note: " + notice);
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
  return model;
}

void measure_shape_bias(EvaluateRequest request, bool alone) {
  ProgressLine line(1);
  std::vector<MeasuredBias> models;
  for_each_model(request, line, [&](const LoadedModel& trained) {
    models.push_back(measure_one(request, trained, line));
    const MeasuredBias& model = models.back();
    print_broken(model.responses.pass, line);
    if (alone) line.print(model.bias().table());
    const auto folder = output_folder(request, trained, alone);
    if (folder) print_files(write_bias(*folder, model), line);
  });
  line.print("\n" + bias_table(models));
  if (!request.csv.empty()) write_file_atomically(request.csv, bias_csv(models));
  keep_logits(request, models.front().responses.logits, {}, line);
}

int run(int argc, char** argv) {
  EvaluateRequest request;
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
  check_request(request);
  const bool alone = request.is_alone();
  request.shape_bias.empty() ? evaluate_models(request, alone) : measure_shape_bias(request, alone);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, run); }
