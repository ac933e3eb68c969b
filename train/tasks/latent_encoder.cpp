// Latents and pictures, a few images at a time.
#include "train/tasks/latent_encoder.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "engine/autograd.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr std::int64_t kAtOnce = 8;

LoadedVae load(const std::filesystem::path& vae, Device device) {
  try {
    return load_vae(vae, {DType::f32, device});
  } catch (const Error& error) {
    fail("--vae: ", error.what());
  }
}

/// The results for kAtOnce rows at a time, joined.
Tensor in_parts(std::int64_t rows, const std::function<Tensor(std::int64_t, std::int64_t)>& of) {
  const NoGrad no_grad;
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < rows; first += kAtOnce) {
    parts.push_back(of(first, std::min(rows, first + kAtOnce)).to(DType::f32));
  }
  return ops::cat(parts, 0);
}

Context context(DType activations) {
  Context ctx;
  ctx.activations = activations;
  return ctx;
}

}  // namespace

LatentEncoder::LatentEncoder(const std::filesystem::path& vae, Device device)
    : vae_(load(vae, device)) {}

Tensor LatentEncoder::encode(const Tensor& images, const Tensor& noise, DType activations) const {
  const Context ctx = context(activations);
  return in_parts(images.size(0), [&](std::int64_t first, std::int64_t end) {
    const Tensor moments =
        vae_.model->moments(ops::slice(images, 0, first, end).contiguous(), ctx).to(DType::f32);
    return draw_latents(moments, ops::slice(noise, 0, first, end)) * config().scaling_factor;
  });
}

Tensor LatentEncoder::decode(const Tensor& latents, DType activations) const {
  const Context ctx = context(activations);
  return in_parts(latents.size(0), [&](std::int64_t first, std::int64_t end) {
    return vae_.model->decode_scaled(ops::slice(latents, 0, first, end).contiguous(), ctx);
  });
}

LatentSource LatentEncoder::source(const std::string& crop, ImageSize images) const {
  return {.vae = vae_.model->info().name,
          .hash = vae_.hash,
          .scale = config().scaling_factor,
          .preparation = crop + " " + std::to_string(images.height)};
}

}  // namespace fovea
