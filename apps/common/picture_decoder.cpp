// Checks of a VAE against the model, and its decoder.
#include "apps/common/picture_decoder.h"

#include "engine/base/error.h"
#include "train/tasks/kept_vae.h"

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
          latents ? latents->hash : "", "); add --vae FILE to decode them");
    check(channels == Image::kChannels, model, ": makes ", channels,
          " channels, which are latents; add --vae FILE to decode them");
    return;
  }
  check_usage(!makes_pixels(trained), "--vae: got ", vae, ", but ", model,
              " makes pixels, not latents");
  std::filesystem::path weights = vae;
  if (latents) weights = vae_with_hash(vae, latents->hash);
  encoder_.emplace(weights, trained.model->device(),
                   latents ? std::optional(latents->scale) : std::nullopt);
  const std::int64_t own = encoder_->config().latent_channels;
  check_usage(own == channels, "--vae: ", vae, " has latents of ", own, " channels, but ", model,
              " makes ", channels);
  if (latents) require_same_vae({*latents, model}, {encoder_->source(), "--vae"});
}

Tensor PictureDecoder::operator()(const Tensor& samples) const {
  return encoder_ ? encoder_->decode(samples, activations_) : samples;
}

ImageSize PictureDecoder::picture_size(const Model& model) const {
  const auto [height, width] = model.info().img_size;
  const std::int64_t factor = encoder_ ? encoder_->config().factor() : 1;
  return {factor * height, factor * width};
}

std::vector<std::string> PictureDecoder::notes() const {
  std::vector<std::string> notes;
  if (!encoder_) return notes;
  const LoadedVae& vae = encoder_->vae();
  for (const std::string& note : vae.notes) notes.push_back(vae.weights.string() + ": " + note);
  return notes;
}

}  // namespace fovea
