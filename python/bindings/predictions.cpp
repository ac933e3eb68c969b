// The classes of images in an array, prepared as `predict` prepares picture files.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/loading.h"
#include "apps/tasks/predict_request.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "ops/softmax.h"
#include "ops/view.h"
#include "python/bindings/array_images.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea::python {
namespace {

/// Values f32 would be normalised like pixels from 0 to 1.
void require_pixels_or_own_values(const Tensor& images, const Normalization& normalization) {
  const bool takes_values = normalization.mean == std::array{0.F, 0.F, 0.F} &&
                            normalization.deviation == std::array{1.F, 1.F, 1.F};
  check(images.dtype() != DType::f32 || takes_values, "predict: got ", images.dtype(), " ",
        images.shape(),
        ", expected pixels u8 [N, H, W, 3]: the model was not trained on values f32");
}

/// Probabilities [N, K], and the names of the K classes.
std::pair<Tensor, std::vector<std::string>> predict(const std::string& checkpoint,
                                                    const Tensor& images) {
  PredictRequest request;
  request.load.checkpoint = checkpoint;
  LoadedModel trained = load_trained(request.load);
  require_classes(trained);
  require_pixels_or_own_values(images, trained.info.normalization);
  const Tensor no_labels = zeros({images.rank() > 0 ? images.size(0) : 0}, {DType::i64, {}});
  const auto classes = static_cast<std::int64_t>(trained.info.classes.size());
  const auto set = std::make_shared<ArrayImages>(images, no_labels, classes, "predict");
  auto& model = model_as<Classifier>(*trained.model);
  std::vector<Tensor> logits;
  const auto classify = [&](const EvaluationBatch& batch) {
    logits.push_back(logits_of(model, batch).to(DType::f32));
    return std::int64_t{0};
  };
  static_cast<void>(evaluate_batches(model, set, request.options(trained), classify));
  return {ops::softmax(ops::cat(logits, 0)), trained.info.classes};
}

}  // namespace

void bind_predictions(nb::module_& m) {
  m.def("predict", predict, "checkpoint"_a, "images"_a, between_ops);
}

}  // namespace fovea::python
