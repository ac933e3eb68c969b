// COCO's numbers of detectors: evaluation of each checkpoint, tables and files.
#include "apps/tasks/evaluate_detection.h"

#include <set>

#include "apps/common/progress_line.h"
#include "apps/tasks/detector_images.h"
#include "engine/base/files.h"
#include "models/model_as.h"
#include "report/detector_report.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea {
namespace {

void check_detector_request(const EvaluateRequest& r) {
  for (const auto& [flag, text] :
       {std::pair("--logits", r.logits), std::pair("--class-map", r.class_map),
        std::pair("--shape-bias", r.shape_bias)}) {
    check_usage(text.empty(), flag, ": got ", text,
                ", but only classifiers have such outputs, and ", "the checkpoint is a detector");
  }
}

struct Evaluated {
  EvaluatedDetector detector;
  std::vector<FoundObject> objects;
};

Evaluated evaluate_one(const EvaluateRequest& request, const LoadedModel& trained,
                       const std::shared_ptr<const DetectionSet>& images, ProgressLine& line) {
  EvaluateOptions options = request.options(trained);
  options.pad_multiple = 1;
  options.on_batch = [&](std::int64_t done) {
    line.update({.label = "evaluating", .done = done, .total = images->size(), .note = {}});
    return true;
  };
  Evaluated result;
  FoundObjects found = find_objects(model_as<Detector>(*trained.model), images, options,
                                    [&](std::int64_t index) { return images->stored_size(index); });
  found.pass.require_finite(trained.weights.string() + ": ");
  EvaluatedDetector& detector = result.detector;
  detector.checkpoint = trained.weights.string();
  detector.model = trained.model->info().name;
  detector.dataset = request.data.name.empty() ? trained.info.dataset : request.data.name;
  if (request.split == "train") detector.dataset += ", training images";
  detector.classes = images->class_names();
  detector.loss = found.loss / static_cast<double>(std::max<std::int64_t>(found.pass.samples, 1));
  detector.precision = precision_of(found.objects, images);
  detector.pass = found.pass;
  result.objects = std::move(found.objects);
  return result;
}

/// Writes the files of a single checkpoint; those in its own folder describe test images only.
void write_files(const EvaluateRequest& request, const LoadedModel& trained,
                 const Evaluated& evaluated, const DetectionSet& images, ProgressLine& line) {
  std::filesystem::path folder = request.output;
  if (folder.empty() && request.split == "val") folder = trained.weights.parent_path();
  if (folder.empty()) return;
  std::vector<std::filesystem::path> files = write_precision(folder, evaluated.detector);
  files.push_back(folder / "detections.json");
  write_file_atomically(files.back(), coco_results(evaluated.objects, images));
  for (const std::filesystem::path& file : files) line.print("wrote " + file.string());
}

}  // namespace

void evaluate_detectors(const EvaluateRequest& given) {
  check_detector_request(given);
  EvaluateRequest request = given;
  ProgressLine line(1);
  std::set<std::string> told;
  const auto note = [&](const std::string& text) {
    if (!text.empty() && told.insert(text).second) line.print("note: " + text);
  };
  std::vector<EvaluatedDetector> detectors;
  const bool alone = request.is_alone();
  request.load.key_is_shared = request.checkpoints.size() > 1;
  for (const std::string& checkpoint : request.checkpoints) {
    for (const std::string& size : request.sizes()) {
      request.load.checkpoint = checkpoint;
      request.load.img_size = size;
      const LoadedModel trained = load_trained(request.load);
      for (const std::string& notice : trained.notices) note(notice);
      const auto images = open_detection_set(request.images_of(trained), request.split, trained);
      note(images->notice());
      const Evaluated evaluated = evaluate_one(request, trained, images, line);
      for (const BrokenImage& image : evaluated.detector.pass.bad_images)
        line.print("broken: " + image.message);
      detectors.push_back(evaluated.detector);
      if (!alone) continue;
      line.print(category_table(evaluated.detector));
      if (!request.processes->is_first()) continue;
      write_files(request, trained, evaluated, *images, line);
    }
  }
  line.print("\n" + detector_table(detectors));
  if (!request.processes->is_first()) return;
  if (!request.csv.empty()) write_file_atomically(request.csv, detector_csv(detectors));
  if (!request.json.empty()) write_file_atomically(request.json, detector_json(detectors));
}

}  // namespace fovea
