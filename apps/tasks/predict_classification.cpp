// Classes of picture files.
#include <memory>

#include "apps/tasks/classification.h"
#include "apps/tasks/predictions.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {
namespace {

/// One prediction per file, in the order of the files.
std::vector<PicturePrediction> classify_files(const PredictRequest& request,
                                              const LoadedModel& trained,
                                              const std::vector<std::filesystem::path>& paths) {
  const auto files = std::make_shared<PictureFiles>(paths, trained.info.exif_orientation);
  std::vector<PicturePrediction> predictions;
  for (std::int64_t i = 0; i < files->size(); ++i) predictions.push_back({files->describe(i), {}});
  auto& model = model_as<Classifier>(*trained.model);
  const auto classify = [&](const EvaluationBatch& batch) {
    const Tensor logits = logits_of(model, batch).to(DType::f32);
    for (std::int64_t row = 0; row < batch.host.size(); ++row) {
      auto& picture = predictions.at(static_cast<std::size_t>(batch.host.indices.at(row)));
      picture.choices = top_choices(logits, row, trained.info.classes, request.topk);
      if (picture.choices.empty()) {
        picture.error = picture.file + ": the model's outputs for it are not finite";
      }
    }
    return std::int64_t{0};
  };
  const EvaluationPass pass = evaluate_batches(model, files, request.options(trained), classify);
  for (const BrokenImage& image : pass.bad_images) {
    predictions.at(static_cast<std::size_t>(image.index)).error = image.message;
  }
  return predictions;
}

}  // namespace

int predict_classes(const PredictRequest& request, LoadedModel& trained,
                    const PictureList& pictures) {
  require_classes(trained);
  const std::string named_by = name_classes(request.class_map, trained);
  std::vector<PicturePrediction> predictions;
  if (!pictures.files.empty()) predictions = classify_files(request, trained, pictures.files);
  insert_missing(predictions, pictures.missing);
  request.write(
      format_predictions(predictions, request.format, {trained.weights.string(), named_by}));
  refuse_broken(errors_of(predictions), predictions.size());
  return 0;
}

}  // namespace fovea
