// The diffusion task: draws, losses, samples.
#include "train/tasks/diffusion.h"

#include <algorithm>
#include <cmath>

#include "data/figures/contact_sheet.h"
#include "engine/autograd.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "engine/random.h"
#include "engine/upload.h"
#include "models/model_as.h"
#include "ops/reduce.h"
#include "ops/view.h"
#include "train/loop/batch_numbers.h"
#include "train/loop/evaluation_pass.h"
#include "train/run/batch_sheet.h"
#include "train/tasks/image_keys.h"

namespace fovea {
namespace {

constexpr std::uint64_t kTrainingStream = 0x64696666;  // "diff"
constexpr std::uint64_t kLatentStream = 0x766165;      // "vae"
constexpr std::int64_t kClassesShown = 10, kRowsShown = 2;

/// Up to kClassesShown classes of `classes`, evenly spread.
std::vector<std::int64_t> shown_classes(std::int64_t classes) {
  const std::int64_t count = std::min(classes, kClassesShown);
  std::vector<std::int64_t> shown;
  for (std::int64_t i = 0; i < count; ++i) shown.push_back(i * classes / count);
  return shown;
}

/// The classes in rows of samples, with samples numbered along the rows.
SampleRequest samples_of(const std::vector<std::int64_t>& classes) {
  SampleRequest request;
  for (std::int64_t row = 0; row < kRowsShown; ++row) {
    for (const std::int64_t label : classes) {
      request.indices.push_back(std::ssize(request.indices));
      request.classes.push_back(label);
    }
  }
  return request;
}

}  // namespace

TaskInfo diffusion_info(bool learns_variances, bool stored_latents) {
  TaskInfo info;
  info.measures = {{.name = "loss", .title = "loss", .is_loss = true}};
  if (learns_variances) {
    info.loss_parts = {"mse", "vb"};
    info.measures.push_back({.name = "mse", .title = "mse", .chart = "Squared error of the noise"});
    info.measures.push_back({.name = "vb", .title = "vb (bits)", .chart = "Variational bound"});
  }
  info.needs_labels = info.has_data_classes = true;
  info.takes_raw_pixels = true;
  info.pictures = stored_latents ? "Samples: latents, not decoded" : "Samples";
  info.picture_shows = stored_latents ? "Latents of samples" : "Samples";
  info.next_steps = {
      {"new pictures", concat(program_call("sample"), " RUN", stored_latents ? " --vae VAE" : "",
                              " --cfg-scale 4 --num-sampling-steps 50 --sampler ddim")}};
  return info;
}

DiffusionDraws draw_diffusion(const RandomKey& key, const Tensor& indices, const Shape& input,
                              std::int64_t steps) {
  const Shape image{1, input[0], input[1], input[2]};
  std::vector<double> t, drop;
  std::vector<Tensor> noise;
  for (const RandomKey& own : keys_of_images(key, indices)) {
    Rng rng(own.seed, own.stream);
    t.push_back(static_cast<double>(rng.below(steps)));
    drop.push_back(rng.uniform());
    noise.push_back(rand_normal(image, {0, 1}, {own.seed, stream_of(own.stream)}));
  }
  return {from_values({std::ssize(t)}, t, {DType::i64, {}}), ops::cat(noise, 0),
          from_values({std::ssize(drop)}, drop)};
}

Diffusion::Diffusion(const DiffusionOptions& options, Model& model, std::uint64_t seed,
                     const std::string& crop)
    : model_(model_as<Dit>(model)),
      options_(options),
      process_(options.process, model.device()),
      seed_(seed),
      info_(diffusion_info(model_.config().learn_sigma, options.stored_latents)) {
  info_.process = options.process;
  if (options.vae.empty()) return;
  encoder_ = std::make_unique<LatentEncoder>(options.vae, model.device());
  const std::int64_t channels = encoder_->config().latent_channels;
  check(model_.config().image.in_chans == channels, model.info().name, ": takes ",
        model_.config().image.in_chans, " channels, but the latents of --vae ",
        options.vae.string(), " have ", channels, "; add --model-args '{\"in_chans\": ", channels,
        "}'");
  info_.image_scale = encoder_->config().factor();
  info_.latents = encoder_->source(concat(crop, " ", image_size(model).height));
}

Shape Diffusion::input_shape() const {
  const PatchConfig& image = model_.config().image;
  return {image.in_chans, image.img_size[0], image.img_size[1]};
}

Tensor Diffusion::latent_noise(const RandomKey& key, const Tensor& indices) const {
  if (encoder_ == nullptr) return {};
  const RandomKey own{key.seed, stream_of(key.stream, kLatentStream)};
  return noise_of_images(own, indices, input_shape());
}

Tensor Diffusion::inputs(const Tensor& images, const Tensor& noise, const Context& ctx) const {
  return encoder_ == nullptr ? images : encoder_->encode(images, noise, ctx.activations);
}

Batch Diffusion::prepare(Batch batch, const BatchPlace& place) const {
  const RandomKey key{stream_of(kTrainingStream, seed_), static_cast<std::uint64_t>(place.step)};
  const DiffusionDraws draws =
      draw_diffusion(key, batch.indices, input_shape(), options_.process.steps);
  batch.set("t", draws.t);
  batch.set("noise", draws.noise);
  batch.set("drop_noise", draws.drop_noise);
  if (encoder_ != nullptr) batch.set("latent_noise", latent_noise(key, batch.indices));
  return batch;
}

DiffusionLoss Diffusion::losses(const NoisedImages& images, const Tensor& labels,
                                Context& ctx) const {
  const Tensor xt = process_.add_noise(images.x0, images.t, images.noise);
  return diffusion_loss(process_, images, model_.denoise(xt, images.t, labels, ctx));
}

TaskLoss Diffusion::loss(const Batch& batch, Context& ctx) const {
  const Tensor labels = model_.drop_labels(batch.labels, batch.at("drop_noise"));
  const Tensor x0 = inputs(batch.images, batch.find("latent_noise"), ctx);
  const DiffusionLoss loss = losses({x0, batch.at("t"), batch.at("noise")}, labels, ctx);
  TaskLoss result{loss.total(options_.vb_weight())};
  if (loss.vb.defined()) {
    result.parts = {ops::mean(loss.mse.detach()), ops::mean(loss.vb.detach())};
  }
  return result;
}

EvaluationResult Diffusion::evaluate(const std::shared_ptr<const Dataset>& dataset,
                                     const EvaluateOptions& options) const {
  BatchNumbers numbers;
  const auto measure = [&](const EvaluationBatch& batch) {
    const DiffusionDraws draws = draw_diffusion({kEvaluationStream}, batch.host.indices,
                                                input_shape(), options_.process.steps);
    const Device device = model_.device();
    Tensor noise = latent_noise({kEvaluationStream}, batch.host.indices);
    if (noise.defined()) noise = upload(noise, device);
    const auto read = batch.forward(
        {batch.there.images, batch.there.labels, upload(draws.t, device),
         upload(draws.noise, device), noise},
        [&](const auto& there) {
          const Tensor x0 = inputs(there[0], there[4], batch.ctx);
          const DiffusionLoss loss = losses({x0, there[2], there[3]}, there[1], batch.ctx);
          return loss.vb.defined() ? std::vector{loss.mse, loss.vb} : std::vector{loss.mse};
        });
    const Tensor &mse = read.front(), &last = read.back();
    numbers.add({ops::sum(mse).item(), read.size() > 1 ? ops::sum(last).item() : 0});
    return nonfinite_rows(ops::reshape(last, {last.numel(), 1}));
  };
  EvaluateOptions scaled = options;
  scaled.image_scale = info_.image_scale;
  const EvaluationPass pass = evaluate_batches(model_, dataset, scaled, measure);
  const std::vector<double> parts = numbers.sums(*options.processes, 2);
  std::vector<double> sums{parts[0] + options_.vb_weight() * parts[1]};
  if (info_.measures.size() > 1) sums.insert(sums.end(), parts.begin(), parts.end());
  return {ScoreSums{sums, pass.samples}, pass};
}

std::optional<Image> Diffusion::picture(const std::shared_ptr<const Dataset>& dataset,
                                        const EvaluateOptions& options) const {
  const std::vector<std::int64_t> classes = shown_classes(model_.config().num_classes);
  const Tensor x = sample_images(model_, options_.process, options_.samples, samples_of(classes),
                                 options.activations);
  const std::int64_t columns = std::ssize(classes);
  if (encoder_ == nullptr && x.size(1) != Image::kChannels) return latent_sheet(x, columns);
  ShownBatch shown{encoder_ == nullptr ? x : encoder_->decode(x, options.activations)};
  shown.images = shown.images.to(Device{});
  const auto names = dataset == nullptr ? std::vector<std::string>() : dataset->class_names();
  const bool has_names = std::ssize(names) == model_.config().num_classes;
  for (std::int64_t row = 0; row < kRowsShown && has_names; ++row) {
    for (const std::int64_t label : classes)
      shown.names.push_back(names[static_cast<std::size_t>(label)]);
  }
  return batch_sheet(shown, options.normalization, columns);
}

}  // namespace fovea
