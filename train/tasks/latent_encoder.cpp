// Latents and pictures, a few images at a time.
#include "train/tasks/latent_encoder.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/autograd.h"
#include "ops/arithmetic.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr std::int64_t kEncodedAtOnce = 8, kDecodedAtOnce = 1;

LoadedVae load(const std::filesystem::path& vae, Device device) {
  try {
    return load_vae(vae, {DType::f32, device});
  } catch (const Error& error) {
    fail("--vae: ", error.what());
  }
}

/// The results for `at_once` rows at a time, joined.
Tensor in_parts(std::int64_t rows, std::int64_t at_once,
                const std::function<Tensor(std::int64_t first, std::int64_t end)>& of) {
  const NoGrad no_grad;
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < rows; first += at_once) {
    parts.push_back(of(first, std::min(rows, first + at_once)).to(DType::f32));
  }
  return ops::cat(parts, 0);
}

Context context(DType activations) {
  Context ctx;
  ctx.activations = activations;
  return ctx;
}

}  // namespace

LatentEncoder::LatentEncoder(const std::filesystem::path& vae, Device device,
                             std::optional<double> scale)
    : vae_(load(vae, device)), scale_(scale.value_or(config().scaling_factor)) {}

Tensor LatentEncoder::encode(const Tensor& images, const Tensor& noise, DType activations) const {
  const Context ctx = context(activations);
  return in_parts(images.size(0), kEncodedAtOnce, [&](std::int64_t first, std::int64_t end) {
    const Tensor moments =
        vae_.model->moments(ops::slice(images, 0, first, end).contiguous(), ctx).to(DType::f32);
    return draw_latents(moments, ops::slice(noise, 0, first, end)) * scale_;
  });
}

Tensor LatentEncoder::decode(const Tensor& latents, DType activations) const {
  const Context ctx = context(activations);
  return in_parts(latents.size(0), kDecodedAtOnce, [&](std::int64_t first, std::int64_t end) {
    return vae_.model->decode(ops::slice(latents, 0, first, end) / scale_, ctx);
  });
}

LatentSource LatentEncoder::source(const std::string& preparation) const {
  return {.vae = vae_.model->info().name,
          .hash = vae_.hash,
          .scale = scale_,
          .preparation = preparation};
}

}  // namespace fovea
