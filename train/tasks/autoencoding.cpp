// The autoencoding task: noise of the latents, both terms of the loss, and pictures.
#include "train/tasks/autoencoding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/figures/contact_sheet.h"
#include "engine/autograd.h"
#include "engine/base/program_call.h"
#include "engine/upload.h"
#include "models/model_as.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "train/loop/batch_numbers.h"
#include "train/loop/evaluation_pass.h"
#include "train/tasks/image_keys.h"

namespace fovea {
namespace {

constexpr std::uint64_t kNoiseStream = 0x766165;  // "vae": training
constexpr std::int64_t kImagesShown = 8;
constexpr std::size_t kMeasures = 5;
constexpr double kLeastError = 1e-10;  // squared: a PSNR of 100 dB

/// The squared error of each image's pixels in [0, 1]: f32 [B]. Images are in [-1, 1].
Tensor squared_errors(const Tensor& images, const Tensor& output) {
  const Tensor apart = ops::clamp(output.to(DType::f32), -1, 1) - images.to(DType::f32);
  return ops::mean(apart * apart, {1, 2, 3}) * 0.25;
}

/// The sum of the images' PSNR; NaN if an error is.
double sum_of_psnr(const Tensor& errors) {
  double sum = 0;
  for (const double error : errors.to_vector())
    sum -= 10 * std::log10(error < kLeastError ? kLeastError : error);
  return sum;
}

}  // namespace

TaskInfo autoencoding_info() {
  TaskInfo info;
  info.loss_parts = {"rec", "kl"};
  info.measures = {
      {.name = "loss", .title = "loss", .is_loss = true},
      {.name = "rec", .title = "absolute error of pixels"},
      {.name = "kl", .title = "KL per image", .is_detail = true},
      {.name = "kl_latent", .title = "KL per latent", .chart = "KL per latent", .is_recent = true},
      {.name = "psnr",
       .title = "PSNR (dB)",
       .chart = "PSNR",
       .more_is_better = true,
       .is_recent = true}};
  info.takes_raw_pixels = true;
  info.pictures = "Originals and reconstructions";
  info.next_steps = {{"latents of the same images",
                      program_call("encode") + " --vae RUN --output latents.safetensors"}};
  return info;
}

Autoencoding::Autoencoding(TaskInfo info, Model& model, const AutoencodingOptions& options,
                           std::uint64_t seed)
    : model_(model_as<Vae>(model)), info_(std::move(info)), options_(options), seed_(seed) {}

Tensor Autoencoding::noise_for(const RandomKey& key, const Batch& batch) const {
  const std::int64_t f = model_.config().factor();
  return noise_of_images(
      key, batch.indices,
      {model_.config().latent_channels, batch.images.size(2) / f, batch.images.size(3) / f});
}

Batch Autoencoding::prepare(Batch batch, const BatchPlace& place) const {
  const RandomKey key{stream_of(kNoiseStream, seed_), static_cast<std::uint64_t>(place.step)};
  batch.set("noise", noise_for(key, batch));
  return batch;
}

Tensor Autoencoding::Errors::loss(double kl_weight) const { return rec + kl * kl_weight; }

Autoencoding::Errors Autoencoding::errors(const Tensor& images, const Tensor& noise,
                                          const Context& ctx) const {
  const Tensor moments = model_.moments(images, ctx);
  const Tensor output = model_.decode(draw_latents(moments, noise), ctx);
  return {output, reconstruction_error(images, output), latent_divergence(moments)};
}

TaskLoss Autoencoding::loss(const Batch& batch, Context& ctx) const {
  const Errors e = errors(batch.images, batch.at("noise"), ctx);
  return {e.loss(options_.kl_weight), {e.rec, e.kl}};
}

EvaluationResult Autoencoding::evaluate(const std::shared_ptr<const Dataset>& dataset,
                                        const EvaluateOptions& options) const {
  BatchNumbers numbers;
  const auto measure = [&](const EvaluationBatch& batch) {
    const NoGrad no_grad;
    const Tensor noise = upload(noise_for({kEvaluationStream, 0}, batch.host), model_.device());
    const auto read = batch.forward({batch.there.images, noise}, [&](const auto& there) {
      const Errors e = errors(there[0], there[1], batch.ctx);
      return std::vector{e.loss(options_.kl_weight), e.rec, e.kl, e.output,
                         squared_errors(there[0], e.output)};
    });
    const auto images = static_cast<double>(batch.host.size());
    const double latents = static_cast<double>(noise.numel()) / images;
    numbers.add({read[0].item() * images, read[1].item() * images, read[2].item() * images,
                 read[2].item() * images / latents, sum_of_psnr(read[4])});
    return nonfinite_rows(ops::reshape(read[3], {batch.host.size(), -1}));
  };
  const EvaluationPass pass = evaluate_batches(model_, dataset, options, measure);
  return {ScoreSums{numbers.sums(*options.processes, kMeasures), pass.samples}, pass};
}

std::optional<Image> Autoencoding::picture(const std::shared_ptr<const Dataset>& dataset,
                                           const EvaluateOptions& options) const {
  EvaluateOptions few = options;
  few.batch_size = std::min(kImagesShown, dataset->size());
  few.on_batch = [](std::int64_t) { return false; };
  std::optional<Image> picture;
  const auto show = [&](const EvaluationBatch& batch) {
    const NoGrad no_grad;
    const Tensor mean = mean_of_moments(model_.moments(batch.there.images, batch.ctx));
    const Tensor output = model_.decode(mean, batch.ctx).to(Device{}).to(DType::f32);
    picture = contact_sheet(ops::cat({batch.host.images, output}, 0), options.normalization,
                            batch.host.size());
    return std::int64_t{0};
  };
  static_cast<void>(evaluate_batches(model_, dataset, few, show));
  return picture;
}

}  // namespace fovea
