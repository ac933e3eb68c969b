// Conversion to 8 bits, and placing of pictures side by side.
#include "data/figures/generated_pictures.h"

#include <algorithm>

#include "engine/autograd.h"
#include "engine/base/error.h"
#include "engine/copy.h"

namespace fovea {
namespace {

Image picture(const float* values, ImageSize size) {
  Image image(size.height, size.width);
  const std::int64_t area = size.height * size.width;
  for (std::int64_t i = 0; i < area; ++i) {
    for (std::int64_t c = 0; c < Image::kChannels; ++c) {
      const float level = std::clamp(127.5F * values[c * area + i] + 128.0F, 0.0F, 255.0F);
      image.pixels[i * Image::kChannels + c] = static_cast<std::uint8_t>(level);
    }
  }
  return image;
}

}  // namespace

std::vector<Image> generated_pictures(const Tensor& images) {
  const NoGrad no_grad;
  check(images.rank() == 4 && images.size(1) == Image::kChannels, "generated pictures: got images ",
        images.shape(), ", expected [B, 3, H, W]");
  const Tensor host = images.detach().to(Device{}).to(DType::f32).contiguous();
  check(all_finite(host), "the generated images are not finite; is the model trained?");
  const ImageSize size{host.size(2), host.size(3)};
  std::vector<Image> pictures;
  for (std::int64_t b = 0; b < host.size(0); ++b) {
    const std::int64_t length = Image::kChannels * size.height * size.width;
    pictures.push_back(picture(host.data<float>() + b * length, size));
  }
  return pictures;
}

Image picture_grid(std::span<const Image> pictures, std::int64_t columns, std::int64_t gap) {
  check(!pictures.empty() && columns > 0, "picture grid: got ", pictures.size(), " pictures in ",
        columns, " columns, expected at least one");
  const ImageSize size = pictures.front().size();
  const std::int64_t count = std::ssize(pictures), across = std::min(columns, count);
  const std::int64_t rows = (count + across - 1) / across;
  const std::int64_t height = size.height + gap, width = size.width + gap;
  Image grid(rows * height - gap, across * width - gap);
  for (std::int64_t i = 0; i < count; ++i) {
    const Image& image = pictures[static_cast<std::size_t>(i)];
    require_rgb8(image, "picture grid");
    check(image.size() == size, "picture grid: got a picture of ", to_string(image.size()),
          " among pictures of ", to_string(size));
    for (std::int64_t y = 0; y < size.height; ++y) {
      std::copy_n(image.at(y, 0), size.width * Image::kChannels,
                  grid.at(i / across * height + y, i % across * width));
    }
  }
  return grid;
}

}  // namespace fovea
