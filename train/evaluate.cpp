// One pass over the data in its own order, the last batch as small as it comes.
#include "train/evaluate.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "data/evaluation.h"
#include "data/loading/loader.h"
#include "engine/autograd.h"
#include "engine/copy.h"
#include "ops/loss.h"

namespace fovea {
namespace {

/// Writes each row of a batch to the row of its image.
void keep_rows(Tensor& all, const Tensor& logits, const Tensor& indices) {
  const Tensor rows = logits.to(DType::f32).to(Device{}).contiguous();
  const std::int64_t classes = rows.size(1);
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const std::int64_t image = indices.data<std::int64_t>()[i];
    std::copy_n(rows.data<float>() + i * classes, classes, all.data<float>() + image * classes);
  }
}

}  // namespace

void Evaluation::require_finite(const std::string& where) const {
  check(nonfinite == 0, where, "the model's outputs for ", nonfinite, " of ", metrics.samples,
        " images are not finite");
}

Evaluation evaluate(Model& model, const std::shared_ptr<const Dataset>& dataset,
                    const EvaluateOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t classes = model.info().num_classes;
  check(dataset->classes() == classes, "evaluate: the model has ", classes,
        " classes, the data set ", dataset->classes());
  const EvaluationTransform prepare{
      {model.info().img_size[0], model.info().img_size[1]}, options.normalization, options.crop};
  LoaderOptions load = evaluation_loader_options(options.batch_size, options.workers);
  load.on_bad_image = OnBadImage::drop;
  load.bad_image_limit = options.bad_image_limit;
  Loader loader(dataset, evaluation_pipeline(prepare), load);

  Evaluation result;
  if (options.keep_logits) result.logits = zeros({dataset->size(), classes});
  const NoGrad no_grad;
  const Device device = model.device();
  while (result.complete && loader.has_next()) {
    const Batch batch = loader.next();
    if (batch.size() == 0) continue;
    Context ctx;
    ctx.activations = options.activations;
    const Tensor logits = model.forward(batch.images.to(device), ctx).logits;
    result.metrics.add_loss(ops::cross_entropy(logits, batch.labels.to(device)).item(),
                            batch.size());
    add_hits(result.metrics, logits, batch.labels);
    if (!all_finite(logits)) result.nonfinite += nonfinite_rows(logits);
    if (options.keep_predictions) {
      add_predictions(result.predictions, logits, batch.labels, batch.indices);
    }
    if (options.keep_logits) keep_rows(result.logits, logits, batch.indices);
    if (options.on_batch) result.complete = options.on_batch(result.metrics.samples);
  }
  for (const BrokenImage& image : loader.take_bad_images()) {
    result.bad_images.push_back(image.message);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace fovea
