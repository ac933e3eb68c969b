// What is counted of each batch.
#include "train/tasks/classifier_evaluation.h"

#include <algorithm>

#include "base/error.h"
#include "engine/copy.h"
#include "ops/loss.h"

namespace fovea {
void keep_rows(Tensor& all, const Tensor& logits, const Tensor& indices) {
  const Tensor rows = logits.to(DType::f32).to(Device{}).contiguous();
  const std::int64_t classes = rows.size(1);
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const std::int64_t image = indices.data<std::int64_t>()[i];
    std::copy_n(rows.data<float>() + i * classes, classes, all.data<float>() + image * classes);
  }
}

Evaluation evaluate(Classifier& model, const std::shared_ptr<const Dataset>& dataset,
                    const ClassifierOptions& options) {
  const std::int64_t classes = model.info().num_classes;
  check(dataset->classes() == classes, "evaluate: the model has ", classes,
        " classes, the data set ", dataset->classes());
  Evaluation result;
  if (options.keep_logits) result.logits = zeros({dataset->size(), classes});
  const Device device = model.device();
  const auto measure = [&](const Batch& batch, Context& ctx) {
    const Tensor logits = model.forward(batch.images.to(device), ctx).logits;
    result.metrics.add_loss(ops::cross_entropy(logits, batch.labels.to(device)).item(),
                            batch.size());
    add_hits(result.metrics, logits, batch.labels);
    if (options.keep_predictions) {
      add_predictions(result.predictions, logits, batch.labels, batch.indices);
    }
    if (options.keep_logits) keep_rows(result.logits, logits, batch.indices);
    return all_finite(logits) ? 0 : nonfinite_rows(logits);
  };
  static_cast<EvaluationPass&>(result) = evaluate_batches(model, dataset, options, measure);
  return result;
}

}  // namespace fovea
