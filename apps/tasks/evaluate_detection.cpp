// COCO's numbers of detectors: evaluation of each checkpoint, tables and files.
#include <optional>

#include "apps/tasks/detection.h"
#include "apps/tasks/evaluation_session.h"
#include "data/sources/boxes/detection_check.h"
#include "data/sources/orientation.h"
#include "engine/base/files.h"
#include "models/detection/coco_results.h"
#include "models/model_as.h"
#include "report/detector_report.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea {
namespace {

/// Throws if the data set has other categories than the detector.
void require_classes_of(const LoadedModel& trained, const DetectionSet& images) {
  const std::int64_t classes = trained.model->info().num_classes;
  check(images.classes() <= classes, trained.weights.string(), ": the model has ", classes,
        " classes, but the data set has ", images.classes(),
        "; a detector needs boxes of its own classes");
  if (!trained.names_classes) return;
  for (const std::int64_t k : images.category_ids()) {
    const auto at = static_cast<std::size_t>(k);
    const std::string &learned = trained.info.classes.at(at), &own = images.class_names()[at];
    check(learned == own, trained.weights.string(), ": class ", k, " is ", learned,
          ", but in the data set it is ", own);
  }
}

/// Objects on the images of a data set as COCO's results, JSON text.
std::string coco_results(const std::vector<FoundObject>& objects, const DetectionSet& images) {
  const CategoryIds ids = images.stored_ids();
  std::vector<ScoredBox> boxes;
  for (const FoundObject& object : objects) {
    const std::int64_t category = ids.id_of(object.where.category);
    if (category < 0) continue;  // an output of no category
    boxes.push_back(object.where);
    boxes.back().image = images.image_id(object.where.image);
    boxes.back().category = category;
  }
  return format_coco_results(boxes);
}

EvaluatedDetector evaluated_detector(const EvaluateRequest& request, const LoadedModel& trained,
                                     const std::shared_ptr<const DetectionSet>& images,
                                     const FoundObjects& found) {
  EvaluatedDetector detector;
  detector.checkpoint = trained.weights.string();
  detector.model = trained.model->info().name;
  detector.dataset = request.dataset_title(trained);
  detector.classes = images->class_names();
  detector.loss = found.loss;
  detector.precision = precision_of(found, images);
  detector.pass = found.pass;
  return detector;
}

/// Writes the files of a single checkpoint.
std::vector<std::filesystem::path> write_detector_files(const std::filesystem::path& folder,
                                                        const EvaluatedDetector& detector,
                                                        const std::string& results) {
  std::vector<std::filesystem::path> files = write_precision(folder, detector);
  files.push_back(folder / "detections.json");
  write_file_atomically(files.back(), results);
  return files;
}

EvaluatedDetector evaluate_detector(EvaluationSession& session, const LoadedModel& trained) {
  const EvaluateRequest& request = session.request();
  const Split split = request.split == "train" ? Split::train : Split::test;
  const auto images = require_boxes(open_dataset(request.images_of(trained), split), "evaluate");
  require_classes_of(trained, *images);
  session.note(images->notice());
  session.note(request.other_images_note(trained, *images));
  const std::optional<std::filesystem::path> folder =
      request.output.empty() ? session.own_folder(trained) : request.output;
  session.note(orientation_notice(*images));
  auto& model = model_as<Detector>(*trained.model);
  for (const std::string& notice : evaluation_notices(*images, model.num_queries()))
    session.note(notice);
  EvaluateOptions options = session.options(trained, images->size());
  options.pad_multiple = 1;
  const FoundObjects found = find_objects(
      model, images, options, [&](std::int64_t index) { return images->stored_size(index); });
  session.report(found.pass, trained);
  EvaluatedDetector detector = evaluated_detector(request, trained, images, found);
  if (request.is_single()) {
    session.print(category_table(detector));
    if (folder) {
      session.write([&] {
        return write_detector_files(*folder, detector, coco_results(found.objects, *images));
      });
    }
  }
  return detector;
}

}  // namespace

void evaluate_detectors(const EvaluateRequest& request) {
  EvaluationSession session(request);
  std::vector<EvaluatedDetector> detectors;
  session.for_each_model([&](const LoadedModel& trained) {
    detectors.push_back(evaluate_detector(session, trained));
  });
  session.finish(detector_table(detectors), detector_csv(detectors), detector_json(detectors));
  session.throw_failure();
}

}  // namespace fovea
