// The evaluation loop over a loader's batches.
#include "train/loop/evaluation_pass.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "data/loading/loader.h"
#include "data/sources/latents.h"
#include "engine/autograd.h"

namespace fovea {

void EvaluationPass::require_finite(const std::string& where) const {
  check(nonfinite == 0, where, "the model's outputs for ", nonfinite, " of ", samples,
        " images are not finite");
}

EvaluationTransform evaluation_transform(const Model& model, const EvaluateOptions& options) {
  if (options.keep_size) return {{}, options.normalization, options.crop};
  const auto [height, width] = model.info().img_size;
  return {{height, width}, options.normalization, options.crop};
}

EvaluationPass evaluate_batches(
    const Model& model, const std::shared_ptr<const Dataset>& dataset,
    const EvaluateOptions& options,
    const std::function<std::int64_t(const EvaluationBatch& batch)>& measure) {
  const auto start = std::chrono::steady_clock::now();
  LoaderOptions load = evaluation_loader_options(options.batch_size, options.workers);
  load.bad_images.then = OnBadImage::drop;
  load.bad_images.limit = options.bad_image_limit;
  load.rows.pad_multiple = options.pad_multiple;
  const LatentInfo* const latents = dataset->latents();
  Loader loader(dataset,
                latents != nullptr ? latent_pipeline(*latents, /*flip=*/0)
                                   : evaluation_pipeline(evaluation_transform(model, options)),
                load);

  EvaluationPass pass;
  const NoGrad no_grad;
  while (pass.complete && loader.has_next()) {
    const Batch batch = loader.next();
    if (batch.size() == 0) continue;
    Context ctx;
    ctx.activations = options.activations;
    pass.nonfinite += measure({batch, batch.uploaded(model.device()), ctx});
    pass.samples += batch.size();
    if (options.on_batch) pass.complete = options.on_batch(pass.samples);
  }
  pass.bad_images = loader.take_bad_images();
  pass.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return pass;
}

std::int64_t nonfinite_rows(const Tensor& logits) {
  const std::vector<double> values = logits.detach().to_vector();
  const std::int64_t classes = logits.size(1);
  std::int64_t rows = 0;
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    const double* const row = values.data() + b * classes;
    rows += std::all_of(row, row + classes, [](double v) { return std::isfinite(v); }) ? 0 : 1;
  }
  return rows;
}

}  // namespace fovea
