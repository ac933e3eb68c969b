// Evaluation of a classifier: loss, accuracy, predictions and logits over a data set.
#include "train/tasks/classifier_evaluation.h"

#include <algorithm>

#include "base/error.h"
#include "ops/loss.h"
#include "train/loop/read_together.h"

namespace fovea {
void keep_rows(Tensor& all, const Tensor& logits, const Tensor& indices) {
  const Tensor rows = logits.to(DType::f32).contiguous();
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
        " classes, the data set has ", dataset->classes());
  Evaluation result;
  if (options.keep_logits) result.logits = zeros({dataset->size(), classes});
  const auto measure = [&](const EvaluationBatch& batch) {
    const Tensor out = model.forward(batch.there.images, batch.ctx).logits;
    const auto read = read_together({ops::cross_entropy(out, batch.there.labels), out});
    const Tensor &loss = read[0], &logits = read[1];
    result.metrics.add_loss(loss.item(), batch.host.size());
    add_hits(result.metrics, logits, batch.host.labels);
    if (options.keep_predictions) {
      add_predictions(result.predictions, logits, batch.host.labels, batch.host.indices);
    }
    if (options.keep_logits) keep_rows(result.logits, logits, batch.host.indices);
    return nonfinite_rows(logits);
  };
  result.pass = evaluate_batches(model, dataset, options, measure);
  return result;
}

}  // namespace fovea
