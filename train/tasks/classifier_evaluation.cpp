// Evaluation of a classifier: loss, accuracy, predictions and logits over a data set.
#include "train/tasks/classifier_evaluation.h"

#include <algorithm>
#include <span>
#include <string>

#include "engine/base/error.h"
#include "ops/loss.h"
#include "train/loop/batch_numbers.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

Tensor logits_of(Classifier& model, const EvaluationBatch& batch) {
  return batch.forward({batch.there.images}, [&](const auto& there) {
    return std::vector{model.forward(there[0], batch.ctx).logits};
  })[0];
}

void keep_rows(Tensor& all, const Tensor& logits, const Tensor& indices) {
  const Tensor rows = logits.to(DType::f32).contiguous();
  const std::int64_t classes = rows.size(1);
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const std::int64_t image = indices.data<std::int64_t>()[i];
    std::copy_n(rows.data<float>() + i * classes, classes, all.data<float>() + image * classes);
  }
}

namespace {

/// Completes this process's predictions and logits by those of the others.
void gather(Evaluation& result, Communicator& processes) {
  BatchNumbers predictions, rows;
  for (const Prediction& p : result.predictions) {
    predictions.add({static_cast<double>(p.index), static_cast<double>(p.label),
                     static_cast<double>(p.prediction), p.confidence});
  }
  result.predictions.clear();
  for (const std::vector<double>& p : predictions.all(processes)) {
    result.predictions.push_back({static_cast<std::int64_t>(p[0]), static_cast<std::int64_t>(p[1]),
                                  static_cast<std::int64_t>(p[2]), p[3]});
  }
  if (result.logits.defined()) gather_rows(result.logits, processes);
}

}  // namespace

void gather_rows(const Tensor& all, Communicator& processes) {
  if (processes.size() == 1) return;
  float* const values = all.data<float>();
  const auto bytes = std::as_bytes(std::span(values, static_cast<std::size_t>(all.numel())));
  const std::string own(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const std::string& theirs : all_gather(processes, own)) {
    const auto* const other = reinterpret_cast<const float*>(theirs.data());
    for (std::int64_t i = 0; i < all.numel(); ++i)
      if (other[i] != 0) values[i] = other[i];
  }
}

Evaluation evaluate(Classifier& model, const std::shared_ptr<const Dataset>& dataset,
                    const ClassifierOptions& options) {
  const std::int64_t classes = model.info().num_classes;
  check(dataset->classes() == classes, "evaluate: the model has ", classes,
        " classes, the data set has ", dataset->classes());
  Evaluation result;
  BatchNumbers numbers;
  if (options.keep_logits) result.logits = zeros({dataset->size(), classes});
  const auto measure = [&](const EvaluationBatch& batch) {
    const auto read =
        batch.forward({batch.there.images, batch.there.labels}, [&](const auto& there) {
          const Tensor out = model.forward(there[0], batch.ctx).logits;
          return std::vector{ops::cross_entropy(out, there[1]), out};
        });
    const Tensor &loss = read[0], &logits = read[1];
    Metrics own;
    own.add_loss(loss.item(), batch.host.size());
    add_hits(own, logits, batch.host.labels);
    numbers.add(own.to_vector());
    if (options.keep_predictions) {
      add_predictions(result.predictions, logits, batch.host.labels, batch.host.indices);
    }
    if (options.keep_logits) keep_rows(result.logits, logits, batch.host.indices);
    return nonfinite_rows(logits);
  };
  result.pass = evaluate_batches(model, dataset, options, measure);
  result.metrics = Metrics::from(numbers.sums(*options.processes, Metrics::kNumbers));
  if (options.processes->size() > 1) gather(result, *options.processes);
  return result;
}

}  // namespace fovea
