// The masked autoencoding task: masks, errors and pictures.
#include "train/tasks/masked_autoencoding.h"

#include <algorithm>
#include <utility>

#include "data/figures/contact_sheet.h"
#include "engine/autograd.h"
#include "engine/base/program_call.h"
#include "engine/random.h"
#include "engine/upload.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/view.h"
#include "train/loop/batch_numbers.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/hole_filling.h"
#include "train/tasks/image_keys.h"

namespace fovea {
namespace {

constexpr std::uint64_t kMaskStream = 0x6D61736B;  // "mask": training
constexpr std::int64_t kImagesShown = 8;

}  // namespace

TaskInfo masked_autoencoding_info() {
  TaskInfo info;
  info.measures = {{.name = "loss", .title = "loss", .is_loss = true},
                   {.name = "fill", .title = "inpainting baseline loss"}};
  info.takes_raw_pixels = true;
  info.pictures = "Reconstructions";
  info.next_steps = {{"reconstructions of masked patches", program_call("inspect") + " mae RUN"}};
  return info;
}

Tensor mask_noise(const RandomKey& key, const Tensor& indices, std::int64_t patches) {
  std::vector<Tensor> rows;
  for (const RandomKey& own : keys_of_images(key, indices)) {
    rows.push_back(rand_uniform({1, patches}, {0, 1}, own));
  }
  return ops::cat(rows, 0);
}

Tensor held_out_noise(const Tensor& indices, std::int64_t patches) {
  return mask_noise({kEvaluationStream, 0}, indices, patches);
}

MaeErrors measure_errors(Mae& model, const EvaluationBatch& batch, const Tensor& noise) {
  const NoGrad no_grad;
  const MaeConfig& c = model.config();
  const Tensor& images = batch.host.images;
  MaeErrors errors;
  // recomputed on the CPU instead of read from the device
  errors.hidden = Masking(noise, c.kept()).hidden;
  errors.filled = fill_holes(images, errors.hidden, c.image.patch_size);
  const Tensor guess = PatchTargets(errors.filled, c).values();
  const auto read = batch.forward(
      {batch.there.images, upload(noise, model.device()), upload(guess, model.device())},
      [&](const auto& there) {
        const Masking masking(there[1], c.kept());
        const Tensor pixels = model.reconstruct(there[0], masking, batch.ctx).pixels;
        return std::vector{model.loss(there[0], masking, pixels),
                           model.loss(there[0], masking, there[2]), pixels};
      });
  errors.loss = read[0].item();
  errors.fill_loss = read[1].item();
  errors.nonfinite = nonfinite_rows(ops::reshape(read[2], {images.size(0), -1}));
  errors.predicted = read[2].to(DType::f32);
  return errors;
}

MaeViews show_errors(Mae& model, const Tensor& images, const Tensor& noise, Context& ctx) {
  const NoGrad no_grad;
  const MaeConfig& c = model.config();
  MaeViews views;
  const Batch host{images, {}};
  RepeatedForward forward(model.device(), /*records=*/false);
  views.errors = measure_errors(model, {host, host.uploaded(model.device()), ctx, forward}, noise);
  const Tensor& hidden = views.errors.hidden;
  const Tensor mask = ops::reshape(hidden, {hidden.size(0), hidden.size(1), 1});
  const Tensor kept = patch_pixels(images, c.image.patch_size) * (mask * -1.0 + 1.0);
  const Tensor colours = PatchTargets(images, c).to_pixels(views.errors.predicted);
  views.seen = images_of_patches(kept, c.image);
  views.reconstructed = images_of_patches(kept + colours * mask, c.image);
  return views;
}

MaskedAutoencoding::MaskedAutoencoding(TaskInfo info, Model& model, std::uint64_t seed)
    : model_(model_as<Mae>(model)), info_(std::move(info)), seed_(seed) {}

Batch MaskedAutoencoding::prepare(Batch batch, const BatchPlace& place) const {
  const RandomKey key{stream_of(kMaskStream, seed_), static_cast<std::uint64_t>(place.step)};
  batch.set("noise", mask_noise(key, batch.indices, patches()));
  return batch;
}

TaskLoss MaskedAutoencoding::loss(const Batch& batch, Context& ctx) const {
  const Masking masking(batch.at("noise"), model_.config().kept());
  const Tensor pixels = model_.reconstruct(batch.images, masking, ctx).pixels;
  return {model_.loss(batch.images, masking, pixels)};
}

EvaluationResult MaskedAutoencoding::evaluate(const std::shared_ptr<const Dataset>& dataset,
                                              const EvaluateOptions& options) const {
  BatchNumbers numbers;
  const auto measure = [&](const EvaluationBatch& batch) {
    const MaeErrors errors =
        measure_errors(model_, batch, held_out_noise(batch.host.indices, patches()));
    const auto images = static_cast<double>(batch.host.size());
    numbers.add({errors.loss * images, errors.fill_loss * images});
    return errors.nonfinite;
  };
  const EvaluationPass pass = evaluate_batches(model_, dataset, options, measure);
  return {ScoreSums{numbers.sums(*options.processes, 2), pass.samples}, pass};
}

std::optional<Image> MaskedAutoencoding::picture(const std::shared_ptr<const Dataset>& dataset,
                                                 const EvaluateOptions& options) const {
  EvaluateOptions few = options;
  few.batch_size = std::min(kImagesShown, dataset->size());
  few.on_batch = [](std::int64_t) { return false; };
  std::optional<Image> picture;
  const auto show = [&](const EvaluationBatch& batch) {
    const Tensor& images = batch.host.images;
    const MaeViews views =
        show_errors(model_, images, held_out_noise(batch.host.indices, patches()), batch.ctx);
    const Tensor rows = ops::cat({images, views.seen, views.reconstructed}, 0);
    picture = contact_sheet(rows, options.normalization, batch.host.size());
    return std::int64_t{0};
  };
  static_cast<void>(evaluate_batches(model_, dataset, few, show));
  return picture;
}

}  // namespace fovea
