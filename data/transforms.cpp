// Crops, flips and normalisation.
#include "data/transforms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace fovea {
namespace {

/// (whole - part) / 2, halves to even.
std::int64_t centered(std::int64_t whole, std::int64_t part) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(whole - part) / 2));
}

/// Where each pixel from `start` on is taken from on a side of the image; -1: from nowhere.
std::vector<std::int64_t> sources(std::int64_t start, std::int64_t count, std::int64_t side,
                                  Padding padding) {
  std::vector<std::int64_t> result;
  const std::int64_t period = std::max<std::int64_t>(1, 2 * (side - 1));
  for (std::int64_t i = start; i < start + count; ++i) {
    if (padding == Padding::edge) {
      result.push_back(std::clamp<std::int64_t>(i, 0, side - 1));
    } else if (padding == Padding::reflect) {
      const std::int64_t phase = ((i % period) + period) % period;
      result.push_back(std::min(phase, side == 1 ? 0 : period - phase));
    } else {
      result.push_back(i >= 0 && i < side ? i : -1);
    }
  }
  return result;
}

/// The image's shape with its shorter side as given (torchvision's Resize: rounded down).
ImageSize shorter_side(const Image& image, std::int64_t shorter) {
  const auto longer = [shorter](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<double>(shorter * a) / static_cast<double>(b));
  };
  return image.height <= image.width ? ImageSize{shorter, longer(image.width, image.height)}
                                     : ImageSize{longer(image.height, image.width), shorter};
}

/// The image's shape, just large enough to cover `size` (timm's ResizeKeepRatio: rounded to even).
ImageSize covering(const Image& image, ImageSize size) {
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double ratio =
      std::min(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
  return {static_cast<std::int64_t>(std::nearbyint(height / ratio)),
          static_cast<std::int64_t>(std::nearbyint(width / ratio))};
}

}  // namespace

Image crop(const Image& image, std::int64_t top, std::int64_t left, ImageSize size) {
  Image result(size.height, size.width);
  const std::int64_t x0 = std::max<std::int64_t>(0, -left);
  const std::int64_t x1 = std::min(size.width, image.width - left);
  if (x0 >= x1) return result;
  for (std::int64_t y = std::max<std::int64_t>(0, -top);
       y < std::min(size.height, image.height - top); ++y)
    std::copy_n(image.at(y + top, x0 + left), (x1 - x0) * Image::kChannels, result.at(y, x0));
  return result;
}

Image crop(const Image& image, const PixelBox& box, Padding padding, const Color8& fill) {
  const ImageSize size = box.size();
  const bool inside =
      box.top >= 0 && box.left >= 0 && box.bottom <= image.height && box.right <= image.width;
  const bool black = padding == Padding::constant && fill == Color8{};
  if (inside || black) return crop(image, box.top, box.left, size);
  const std::vector<std::int64_t> rows = sources(box.top, size.height, image.height, padding);
  const std::vector<std::int64_t> columns = sources(box.left, size.width, image.width, padding);
  Image result(size.height, size.width);
  for (std::int64_t y = 0; y < size.height; ++y) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      const bool outside = rows[y] < 0 || columns[x] < 0;
      std::copy_n(outside ? fill.data() : image.at(rows[y], columns[x]), Image::kChannels,
                  result.at(y, x));
    }
  }
  return result;
}

Image center_crop(const Image& image, ImageSize size) {
  return crop(image, centered(image.height, size.height), centered(image.width, size.width), size);
}

Image center_crop_or_pad(const Image& image, ImageSize size, Padding padding, const Color8& fill) {
  const auto start = [](std::int64_t whole, std::int64_t part) {
    return whole < part ? -((part - whole) / 2) : centered(whole, part);
  };
  const std::int64_t top = start(image.height, size.height), left = start(image.width, size.width);
  return crop(image, {top, top + size.height, left, left + size.width}, padding, fill);
}

ImageSize covering_size(const Image& image, ImageSize size) {
  return size.height == size.width ? shorter_side(image, size.height) : covering(image, size);
}

Image resized(Image image, ImageSize size, Filter filter) {
  if (image.height == size.height && image.width == size.width) return image;
  return resize(image, size, filter);
}

Color8 mean_color(const Normalization& normalization) {
  Color8 color{};
  for (std::size_t c = 0; c < color.size(); ++c) {
    const double value = std::nearbyint(255.0 * static_cast<double>(normalization.mean[c]));
    color[c] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
  }
  return color;
}

Image flip_horizontal(Image image) {
  if (image.pixels.empty()) return image;
  std::array<std::uint8_t, Image::kChannels> left, right;  // copied as a whole
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::uint8_t *first = image.at(y, 0), *last = image.at(y, image.width - 1);
    for (; first < last; first += sizeof left, last -= sizeof right) {
      std::memcpy(left.data(), first, sizeof left);
      std::memcpy(right.data(), last, sizeof right);
      std::memcpy(first, right.data(), sizeof right);
      std::memcpy(last, left.data(), sizeof left);
    }
  }
  return image;
}

Image flip_vertical(Image image) {
  const std::int64_t row = image.width * Image::kChannels;
  for (std::int64_t y = 0; y < image.height / 2; ++y)
    std::swap_ranges(image.at(y, 0), image.at(y, 0) + row, image.at(image.height - 1 - y, 0));
  return image;
}

Image random_crop(const Image& image, std::int64_t padding, Rng& rng, Padding kind) {
  check(padding >= 0, "random_crop: got padding ", padding, ", expected 0 or more");
  const std::int64_t top = rng.below(2 * padding + 1) - padding;
  const std::int64_t left = rng.below(2 * padding + 1) - padding;
  return crop(image, {top, top + image.height, left, left + image.width}, kind);
}

Image random_flip(Image image, double probability, Rng& rng) {
  if (rng.uniform() < probability) return flip_horizontal(std::move(image));
  return image;
}

void normalize(const Image& image, const Normalization& normalization, float* output) {
  const std::int64_t area = image.height * image.width;
  for (int c = 0; c < Image::kChannels; ++c) {
    std::array<float, 256> table;
    for (std::size_t v = 0; v < table.size(); ++v)
      table[v] = (static_cast<float>(v) / 255 - normalization.mean[c]) / normalization.deviation[c];
    for (std::int64_t i = 0; i < area; ++i)
      output[c * area + i] = table[image.pixels[i * Image::kChannels + c]];
  }
}

Image Pipeline::place(Image image, Rng& rng) const {
  for (const Step& step : steps) image = step(std::move(image), rng);
  return image;
}

Image Pipeline::vary(Image image, Rng& rng) const {
  for (const Step& step : variations) image = step(std::move(image), rng);
  return image;
}

Image Pipeline::apply(Image image, Rng& rng) const {
  return vary(place(std::move(image), rng), rng);
}

}  // namespace fovea
