// One pass over the data in its own order, the last batch as small as it comes.
#include "train/evaluate.h"

#include <chrono>

#include "data/loader.h"
#include "engine/autograd.h"
#include "engine/check.h"
#include "ops/loss.h"

namespace fovea {

Device device_of(const Model& model) {
  const auto& parameters = model.store().parameters();
  return parameters.empty() ? Device{} : parameters.front().tensor.device();
}

Evaluation evaluate(Model& model, const std::shared_ptr<const Dataset>& dataset,
                    const EvaluateOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t classes = model.info().num_classes;
  check(dataset->classes() == classes, "evaluate: the model has ", classes,
        " classes, the data set ", dataset->classes());
  EvaluationOptions prepare;
  prepare.size = {model.info().img_size[0], model.info().img_size[1]};
  prepare.normalization = options.normalization;
  Loader loader(dataset, evaluation_pipeline(prepare),
                evaluation_loader_options(options.batch_size, options.workers));

  Evaluation result;
  if (options.count_predictions) {
    result.predictions.resize(static_cast<std::size_t>(classes * classes));
  }
  const NoGrad no_grad;
  const Device device = device_of(model);
  while (result.complete && loader.has_next()) {
    const Batch batch = loader.next();
    Context ctx;
    ctx.activations = options.activations;
    const Tensor logits = model.forward(batch.images.to(device), ctx).logits;
    result.metrics.add_loss(ops::cross_entropy(logits, batch.labels.to(device)).item(),
                            batch.size());
    add_hits(result.metrics, logits, batch.labels);
    if (options.count_predictions) add_predictions(result.predictions, logits, batch.labels);
    if (options.on_batch) result.complete = options.on_batch(result.metrics.samples);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace fovea
