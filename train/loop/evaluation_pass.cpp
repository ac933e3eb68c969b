// The evaluation loop over a loader's batches.
#include "train/loop/evaluation_pass.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "data/loading/loader.h"
#include "data/sources/packed/latents.h"
#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/comm/shards.h"

namespace fovea {

void EvaluationPass::require_finite(const std::string& context) const {
  check(nonfinite == 0, context, "the model's outputs for ", nonfinite, " of ", samples,
        " images are not finite");
}

EvaluationTransform evaluation_transform(const Model& model, const EvaluateOptions& options) {
  if (options.keep_size) return {{}, options.normalization, options.crop};
  const auto [height, width] = model.info().img_size;
  const std::int64_t scale = options.image_scale;
  return {{scale * height, scale * width}, options.normalization, options.crop};
}

namespace {

using MeasureBatch = std::function<std::int64_t(const EvaluationBatch& batch)>;

/// A range of a data set's batches.
struct BatchRange {
  std::int64_t first = 0, end = 0;
};

BatchRange own_batches(const Dataset& dataset, const EvaluateOptions& options) {
  const Communicator& processes = *options.processes;
  const std::int64_t batches = batch_count(dataset.size(), options.batch_size, /*drop_last=*/false);
  return {part_begin(batches, processes.rank(), processes.size()),
          part_begin(batches, processes.rank() + 1, processes.size())};
}

EvaluationPass measure_range(const Model& model, const std::shared_ptr<const Dataset>& dataset,
                             const EvaluateOptions& options, BatchRange range,
                             const MeasureBatch& measure) {
  LoaderOptions load = evaluation_loader_options(options.batch_size, options.workers);
  load.bad_images.then = OnBadImage::drop;
  load.bad_images.limit = options.bad_image_limit;
  load.rows.pad_multiple = options.pad_multiple;
  const LatentInfo* const latents = dataset->latents();
  Loader loader(dataset,
                latents != nullptr ? latent_pipeline(*latents, /*flip=*/0)
                                   : evaluation_pipeline(evaluation_transform(model, options)),
                load, {0, range.first});

  EvaluationPass pass;
  const NoGrad no_grad;
  RepeatedForward forward(model.device(), options.graph && options.processes->size() == 1);
  for (std::int64_t i = range.first; i < range.end && pass.complete; ++i) {
    const Batch batch = loader.next();
    if (batch.size() == 0) continue;
    Context ctx;
    ctx.activations = options.activations;
    pass.nonfinite += measure({batch, batch.uploaded(model.device()), ctx, forward});
    pass.samples += batch.size();
    const std::int64_t about = std::min(pass.samples * options.processes->size(), dataset->size());
    if (options.on_batch) pass.complete = options.on_batch(about);
  }
  pass.bad_images = loader.take_bad_images();
  return pass;
}

}  // namespace

std::vector<BrokenImage> all_bad_images(const std::vector<BrokenImage>& own,
                                        Communicator& processes) {
  std::string text;
  for (const BrokenImage& image : own)
    text += std::to_string(image.index) + ' ' + image.message + '\0';
  std::vector<BrokenImage> all;
  for (const std::string& theirs : all_gather(processes, text)) {
    std::istringstream lines(theirs);
    for (std::string line; std::getline(lines, line, '\0');) {
      const std::size_t blank = line.find(' ');
      all.push_back({std::stoll(line.substr(0, blank)), line.substr(blank + 1)});
    }
  }
  return all;
}

namespace {

/// The outcome over all processes.
EvaluationPass combined(EvaluationPass pass, Communicator& processes) {
  if (processes.size() == 1) return pass;
  const double own[] = {static_cast<double>(pass.samples), static_cast<double>(pass.nonfinite),
                        pass.complete ? 1.0 : 0.0};
  pass.samples = pass.nonfinite = 0;
  for (const std::vector<double>& theirs : all_gather(processes, own)) {
    pass.samples += static_cast<std::int64_t>(theirs[0]);
    pass.nonfinite += static_cast<std::int64_t>(theirs[1]);
    pass.complete = pass.complete && theirs[2] != 0;
  }
  pass.bad_images = all_bad_images(pass.bad_images, processes);
  return pass;
}

}  // namespace

EvaluationPass evaluate_batches(const Model& model, const std::shared_ptr<const Dataset>& dataset,
                                const EvaluateOptions& options, const MeasureBatch& measure) {
  const auto start = std::chrono::steady_clock::now();
  const BatchRange range = own_batches(*dataset, options);
  EvaluationPass pass;
  if (range.first < range.end) pass = measure_range(model, dataset, options, range, measure);
  pass = combined(std::move(pass), *options.processes);
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
