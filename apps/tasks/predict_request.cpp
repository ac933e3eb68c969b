// Flags of `predict`, names of classes, output, broken pictures.
#include "apps/tasks/predict_request.h"

#include <filesystem>
#include <iostream>

#include "data/classes/class_list.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "engine/base/writable.h"
#include "train/loop/fields.h"

namespace fovea {

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
             "file to write (default: standard output); for a depth model, a folder (default: "
             "predictions)");
  output.choice("precision", &r.precision, "precision of the activations", {"f32", "bf16"});
  output.number("threads", &r.threads, "compute threads; 0: all", {0, 1024});
  add_graph_field(output, &r.graph);
  FieldGroup objects(fields, "Detectors");
  objects.number("threshold", &r.threshold, "minimum score of an object (default: 0.5)", {0, 1});
  objects.add("pictures", &r.pictures,
              "folder for the pictures with boxes, as PNG and SVG (default: predictions)");
  objects.add("json", &r.json,
              "write the boxes of all scores to this file, as COCO's results (--format json prints "
              "those shown)");
  objects.add("annotations", &r.annotations,
              "annotation file of COCO's with the pictures' image ids for --json (default: numbers "
              "in the files' names, or 1, 2, ...)");
  FieldGroup(fields, "Depth models")
      .choice("depth-size", &r.depth_size,
              "size of the depth maps: the model's (default), or the picture's, with depths in "
              "between interpolated",
              {"model", "picture"});
  add_load_fields(fields, r.load);
  add_orientation_field(fields, *r.load.images);
  return fields;
}

EvaluateOptions PredictRequest::options(const LoadedModel& trained) const {
  EvaluateOptions options;
  options.batch_size = batch_size;
  options.workers = static_cast<int>(workers);
  options.normalization = trained.info.normalization;
  options.crop = trained.info.crop;
  options.activations = parse_dtype(precision);
  options.bad_image_limit = 1;
  options.graph = graph;
  return options;
}

void PredictRequest::check_outputs(bool output_is_folder) const {
  const auto check_path = [](const char* flag, const std::string& path,
                             void (*require)(const std::filesystem::path&)) {
    with_context(flag, [&] {
      if (!path.empty()) require(path);
    });
  };
  check_path("--output", output, output_is_folder ? require_writable_folder : require_writable);
  check_path("--pictures", pictures, require_writable_folder);
  check_path("--json", json, require_writable);
}

void PredictRequest::write(const std::string& text) const {
  try {
    if (!output.empty()) return write_file_atomically(output, text);
  } catch (const Error&) {
    std::cout << text << std::flush;
    throw;
  }
  std::cout << text << std::flush;
}

std::string name_classes(const std::string& class_map, LoadedModel& trained) {
  std::vector<std::string>& names = trained.info.classes;
  if (class_map.empty()) return trained.names_classes ? "model" : "none";
  const ClassList list = read_class_map(class_map, {});
  DataClasses map{{}, /*in_label_order=*/true};
  for (const std::string& id : list.ids()) map.names.push_back(visible_text(id));
  const ClassMatch match = match_classes(trained.classes(), map, trained.weights.string());
  for (std::size_t i = 0; i < map.names.size(); ++i) names.at(match.labels[i]) = map.names[i];
  return concat("class map, ", match.text());
}

void refuse_broken(const std::vector<std::string>& messages, std::size_t pictures) {
  if (messages.empty()) return;
  if (pictures == 1) fail(messages.front());
  for (const std::string& message : messages) std::cerr << "broken: " << message << '\n';
  fail("predict: ", messages.size(), " of ", pictures, " pictures could not be read");
}

}  // namespace fovea
