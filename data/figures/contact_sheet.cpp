// Undoes the normalisation pixel by pixel.
#include "data/figures/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace fovea {
namespace {

std::uint8_t level(float value, float mean, float deviation) {
  const float shown = (value * deviation + mean) * 255;
  return static_cast<std::uint8_t>(std::lround(std::clamp(shown, 0.0F, 255.0F)));
}

/// Draws one image, [3, height, width], at (top, left).
void place(Image& sheet, std::int64_t top, std::int64_t left, const Tensor& images,
           std::int64_t index, const Normalization& n) {
  const std::int64_t height = images.size(2), width = images.size(3);
  const float* values = images.data<float>() + index * Image::kChannels * height * width;
  for (std::size_t c = 0; c < static_cast<std::size_t>(Image::kChannels); ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x, ++values) {
        sheet.at(top + y, left + x)[c] = level(*values, n.mean[c], n.deviation[c]);
      }
    }
  }
}

}  // namespace

Image contact_sheet(const Tensor& images, const Normalization& normalization,
                    std::int64_t columns) {
  check(images.rank() == 4 && images.size(0) > 0 && images.size(1) == Image::kChannels,
        "contact sheet: got images ", images.shape(), ", expected [B, 3, H, W]");
  const Tensor host = images.detach().to(Device{}).to(DType::f32).contiguous();
  const std::int64_t count = host.size(0), height = host.size(2) + 1, width = host.size(3) + 1;
  const std::int64_t across = std::min(columns, count), rows = (count + across - 1) / across;
  Image sheet(rows * height - 1, across * width - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    place(sheet, i / across * height, i % across * width, host, i, normalization);
  }
  return sheet;
}

Image latent_sheet(const Tensor& latents, std::int64_t columns) {
  check(latents.rank() == 4 && latents.numel() > 0, "latent sheet: got latents ", latents.shape(),
        ", expected [B, C, H, W]");
  const Tensor host = latents.detach().to(Device{}).to(DType::f32).contiguous();
  const std::int64_t count = host.size(0), channels = host.size(1);
  const std::int64_t area = host.size(2) * host.size(3);
  Tensor colors = empty({count, Image::kChannels, host.size(2), host.size(3)});
  for (std::int64_t b = 0; b < count; ++b) {
    for (std::int64_t c = 0; c < Image::kChannels; ++c) {
      const float* const from =
          host.data<float>() + (b * channels + std::min(c, channels - 1)) * area;
      std::copy_n(from, area, colors.data<float>() + (b * Image::kChannels + c) * area);
    }
  }
  return contact_sheet(colors, {{0.5F, 0.5F, 0.5F}, {0.25F, 0.25F, 0.25F}}, columns);
}

}  // namespace fovea
