// predict [RUN] IMAGE...: the most likely classes of pictures, or the objects in them.
#include <iostream>

#include "apps/common/cli.h"
#include "apps/common/loading.h"
#include "apps/common/pictures.h"
#include "apps/tasks/predict_depth.h"
#include "apps/tasks/predict_detection.h"
#include "apps/tasks/predictions.h"
#include "data/classes/class_list.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "engine/parallel.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "train/loop/evaluation_pass.h"

namespace fovea::programs {
namespace {

struct PredictRequest {
  LoadRequest load;
  std::string format = "text", output, class_map, precision = "f32";
  std::int64_t topk = 5, batch_size = 32, workers = 2, threads = 0;
  std::optional<double> threshold{};  // detectors only, with the next two
  std::string pictures, json;
};

Fields fields_of(PredictRequest& r) {
  Fields fields;
  FieldGroup input(fields, "Input");
  input.add("checkpoint", &r.load.checkpoint,
            "run directory, hub folder or weights file (default: the newest under runs/)");
  input.add("class-map", &r.class_map,
            "file of class names, one per line, in the order of the model's outputs");
  input.number("batch-size", &r.batch_size, "pictures per forward pass", {1, 65536});
  input.number("workers", &r.workers, "threads that decode pictures", {0, 256});
  FieldGroup output(fields, "Output");
  output.number("topk", &r.topk, "classes to show per picture", {1, 1e6});
  output.choice("format", &r.format, "output format", {"text", "csv", "json"});
  output.add("output", &r.output,
             "file to write (default: standard output); of a depth model, folder (predictions)");
  output.choice("precision", &r.precision, "precision of the activations", {"f32", "bf16"});
  output.number("threads", &r.threads, "compute threads; 0: all", {0, 1024});
  FieldGroup objects(fields, "Detectors");
  objects.number("threshold", &r.threshold, "least score of an object (default: 0.5)", {0, 1});
  objects.add("pictures", &r.pictures,
              "folder for the pictures with boxes, as SVG (default: predictions)");
  objects.add("json", &r.json, "write all boxes to this file, as COCO's results");
  add_load_fields(fields, r.load);
  return fields;
}

/// Sets the model's class names, from the class map if there is one; returns their source.
std::string name_classes(const std::string& class_map, LoadedModel& trained) {
  std::vector<std::string>& names = trained.info.classes;
  const std::string by_itself = trained.names_classes ? "model" : "none";
  if (class_map.empty()) return by_itself;
  const ClassList list = read_class_map(class_map, {});
  DataClasses map{{}, /*in_label_order=*/true};
  for (const std::string& id : list.ids()) map.names.push_back(visible_text(id));
  const ClassMatch match = match_classes(trained.classes(), map, trained.weights.string());
  for (std::size_t i = 0; i < map.names.size(); ++i) names.at(match.labels[i]) = map.names[i];
  return text_of("class map, ", match.text());
}

EvaluateOptions options_of(const PredictRequest& request, const LoadedModel& trained) {
  EvaluateOptions options;
  options.batch_size = request.batch_size;
  options.workers = static_cast<int>(request.workers);
  options.normalization = trained.info.normalization;
  options.crop = trained.info.crop;
  options.activations = parse_dtype(request.precision);
  options.bad_image_limit = 1;
  return options;
}

/// One prediction per file, in the order of the files.
std::vector<PicturePrediction> predict_files(const PredictRequest& request,
                                             const LoadedModel& trained,
                                             const PictureFiles& files) {
  std::vector<PicturePrediction> predictions(static_cast<std::size_t>(files.size()));
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    predictions[i].file = files.describe(static_cast<std::int64_t>(i));
  }
  const EvaluateOptions options = options_of(request, trained);
  auto& model = model_as<Classifier>(*trained.model);
  const auto name_classes = [&](const EvaluationBatch& batch) {
    const Tensor logits =
        model.forward(batch.there.images, batch.ctx).logits.to(Device{}).to(DType::f32);
    for (std::int64_t row = 0; row < batch.host.size(); ++row) {
      auto& picture = predictions.at(static_cast<std::size_t>(batch.host.indices.at(row)));
      picture.choices = top_choices(logits, row, trained.info.classes, request.topk);
      if (picture.choices.empty()) {
        picture.error = picture.file + ": the model's outputs for it are not finite";
      }
    }
    return std::int64_t{0};
  };
  const EvaluationPass pass =
      evaluate_batches(model, std::make_shared<PictureFiles>(files), options, name_classes);
  for (const BrokenImage& image : pass.bad_images) {
    predictions.at(static_cast<std::size_t>(image.index)).error = image.message;
  }
  return predictions;
}

/// The objects in the files. Prints the names of the files that it writes.
std::vector<PictureObjects> find_in_files(const PredictRequest& request, const LoadedModel& trained,
                                          const std::vector<std::filesystem::path>& files) {
  ObjectOptions options;
  options.threshold = request.threshold.value_or(options.threshold);
  options.drawn = request.pictures.empty() ? "predictions" : request.pictures;
  options.json = request.json;
  options.run = options_of(request, trained);
  options.run.pad_multiple = 1;
  std::vector<std::filesystem::path> written;
  std::vector<PictureObjects> pictures = find_in_pictures(trained, files, options, written);
  for (const std::filesystem::path& file : written) std::cerr << "wrote " << file.string() << '\n';
  return pictures;
}

/// Throws if any picture is broken, after printing their names.
template <class Picture>
void refuse_broken(const std::vector<Picture>& predictions) {
  std::vector<std::string> messages;
  for (const Picture& picture : predictions) {
    if (!picture.error.empty()) messages.push_back(picture.error);
  }
  if (messages.empty()) return;
  if (predictions.size() == 1) fail(messages.front());
  for (const std::string& message : messages) std::cerr << "broken: " << message << '\n';
  fail("predict: ", messages.size(), " of ", predictions.size(), " pictures could not be read");
}

/// Inserts arguments that match nothing at their original positions.
template <class Picture>
void insert_missing(std::vector<Picture>& predictions,
                    const std::vector<PictureList::Missing>& missing) {
  std::size_t before = 0;  // number inserted so far
  for (const auto& [path, reason, place] : missing) {
    const auto at = predictions.begin() + static_cast<std::ptrdiff_t>(place + before++);
    predictions.insert(at, {path, {}, path + ": " + reason});
  }
}

void write_output(const PredictRequest& request, const std::string& text) {
  if (!request.output.empty()) return write_file_atomically(request.output, text);
  std::cout << text << std::flush;
}

/// Takes the run or weights file off the front of the arguments, unless --checkpoint names one.
void take_checkpoint(std::vector<std::string>& arguments, LoadRequest& load) {
  if (!load.checkpoint.empty() || arguments.size() < 2 || !is_checkpoint(arguments[0])) return;
  load.checkpoint = arguments.front();
  arguments.erase(arguments.begin());
}

void check_request(const PredictRequest& request, const LoadedModel& trained) {
  if (trained.model->info().task == TaskKind::detection) return;
  const bool is_plain = !request.threshold && request.pictures.empty() && request.json.empty();
  check_usage(is_plain, "--threshold, --pictures and --json are for detectors, but ",
              trained.weights.string(), " contains ", noun_of(trained.model->info().task),
              "; --format json writes its predictions");
}

}  // namespace

int predict(int argc, char** argv) {
  PredictRequest request;
  std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"predict",
       "Classifies pictures, or finds objects in them and draws their boxes. The first of several\n"
       "arguments may be the run directory or weights file. Folders are searched for pictures; -\n"
       "reads a list of files and folders from standard input, separated by newlines or NULs.\n"
       "Broken files are reported and skipped; the exit code is then 1.",
       "FILE, FOLDER or -", fields_of(request)});
  take_checkpoint(arguments, request.load);
  if (arguments.empty()) throw UsageError("predict: name at least one picture, folder or -");
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const PictureList list = list_pictures(arguments, std::cin);

  LoadedModel trained = load_trained(request.load);
  if (trained.model->info().task == TaskKind::depth) {
    const std::string folder = request.output.empty() ? "predictions" : request.output;
    return predict_depths(trained, list, options_of(request, trained), folder);
  }
  require_classes(trained);
  check_request(request, trained);
  const std::string named_by = name_classes(request.class_map, trained);
  for (const std::string& notice : trained.notices) std::cerr << "note: " << notice << '\n';
  if (trained.model->info().task == TaskKind::detection) {
    std::vector<PictureObjects> pictures;
    if (!list.files.empty()) pictures = find_in_files(request, trained, list.files);
    insert_missing(pictures, list.missing);
    write_output(request, format_objects(pictures, request.format, trained.weights.string()));
    refuse_broken(pictures);
    return 0;
  }
  std::vector<PicturePrediction> predictions;
  if (!list.files.empty()) predictions = predict_files(request, trained, PictureFiles(list.files));
  insert_missing(predictions, list.missing);
  write_output(request, format_predictions(predictions, request.format,
                                           {trained.weights.string(), named_by}));
  refuse_broken(predictions);
  return 0;
}

}  // namespace fovea::programs
