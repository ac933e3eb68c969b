// Checks of a VAE against the model, and its decoder.
#include "apps/picture_decoder.h"

#include "base/error.h"
#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

/// Whether the model is known to make pixels.
bool makes_pixels(const LoadedModel& trained) {
  return trained.model->info().in_chans == Image::kChannels && !trained.info.latents &&
         !trained.info.dataset.empty();
}

}  // namespace

PictureDecoder::PictureDecoder(const LoadedModel& trained, const std::string& vae,
                               DType activations)
    : activations_(activations) {
  const std::optional<LatentSource>& latents = trained.info.latents;
  const std::int64_t channels = trained.model->info().in_chans;
  const std::string model = trained.weights.string();
  if (vae.empty()) {
    check(!latents, model, ": makes latents of the VAE ", latents ? latents->vae : "", " (weights ",
          latents ? latents->hash : "", "); add --vae FILE, which makes pictures of them");
    check(channels == Image::kChannels, model, ": makes ", channels,
          " channels, which are latents; add --vae FILE, which makes pictures of them");
    return;
  }
  check_usage(!makes_pixels(trained), "--vae: got ", vae, ", but ", model,
              " makes pixels, not latents");
  vae_ = load_vae(vae, {DType::f32, trained.model->device()});
  const VaeConfig& config = vae_->model->config();
  check_usage(config.latent_channels == channels, "--vae: ", vae, " has latents of ",
              config.latent_channels, " channels, but ", model, " makes ", channels);
  scale_ = latents ? latents->scale : config.scaling_factor;
  if (!latents) return;
  require_same_vae({*latents, model}, {{vae_->model->info().name, vae_->hash, scale_}, "--vae"});
}

Tensor PictureDecoder::operator()(const Tensor& samples) const {
  if (!vae_) return samples;
  const NoGrad no_grad;
  Context ctx;
  ctx.activations = activations_;
  std::vector<Tensor> images;
  for (std::int64_t b = 0; b < samples.size(0); ++b) {
    images.push_back(vae_->model->decode(ops::slice(samples, 0, b, b + 1) * (1 / scale_), ctx));
  }
  return ops::cat(images, 0);
}

std::vector<std::string> PictureDecoder::notes() const {
  std::vector<std::string> notes;
  if (!vae_) return notes;
  for (const std::string& note : vae_->notes) notes.push_back(vae_->weights.string() + ": " + note);
  return notes;
}

}  // namespace fovea
