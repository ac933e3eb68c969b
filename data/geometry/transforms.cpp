// Geometry copies whole pixels and depends only on their size in bytes.
#include "data/geometry/transforms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace fovea {
namespace {

/// (whole - part) / 2, rounded half to even.
std::int64_t centered(std::int64_t whole, std::int64_t part) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(whole - part) / 2));
}

/// The source index of each pixel from `start` on, along one side of the image; -1: none.
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

bool is_inside(const PixelBox& box, ImageSize size) {
  return box.top >= 0 && box.left >= 0 && box.bottom <= size.height && box.right <= size.width;
}

/// The range of the sources; empty if all are outside.
std::array<std::int64_t, 2> range_of(const std::vector<std::int64_t>& sources) {
  std::array<std::int64_t, 2> range{0, 0};
  for (const std::int64_t at : sources) {
    if (at < 0) continue;
    if (range[1] == 0) range[0] = at;
    range = {std::min(range[0], at), std::max(range[1], at + 1)};
  }
  return range;
}

/// The pixels at these rows and columns, or `fill` where one is -1; zeros if that is empty.
Image gathered(const Image& image, const std::vector<std::int64_t>& rows,
               const std::vector<std::int64_t>& columns, PixelBytes fill) {
  const std::int64_t bytes = image.format.bytes();
  Image result(std::ssize(rows), std::ssize(columns), image.format);
  for (std::int64_t y = 0; y < result.height; ++y) {
    for (std::int64_t x = 0; x < result.width; ++x) {
      const bool outside = rows[y] < 0 || columns[x] < 0;
      if (outside && fill.empty()) continue;
      std::copy_n(outside ? fill.data() : image.at(rows[y], columns[x]), bytes, result.at(y, x));
    }
  }
  return result;
}

/// The size with the image's ratio and the given shorter side (torchvision's Resize: rounded
/// down).
ImageSize shorter_side(ImageSize image, std::int64_t shorter) {
  const auto longer = [shorter](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<double>(shorter * a) / static_cast<double>(b));
  };
  return image.height <= image.width ? ImageSize{shorter, longer(image.width, image.height)}
                                     : ImageSize{longer(image.height, image.width), shorter};
}

/// The size with the image's ratio that just covers `size` (timm's ResizeKeepRatio: rounded to
/// even).
ImageSize covering(ImageSize image, ImageSize size) {
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  const double ratio =
      std::min(height / static_cast<double>(size.height), width / static_cast<double>(size.width));
  return {static_cast<std::int64_t>(std::nearbyint(height / ratio)),
          static_cast<std::int64_t>(std::nearbyint(width / ratio))};
}

/// Mirrors a row of pixels with `Bytes` bytes each, copied as a whole.
template <std::size_t Bytes>
void mirror_row(std::uint8_t* first, std::uint8_t* last) {
  std::array<std::uint8_t, Bytes> left, right;
  for (; first < last; first += Bytes, last -= Bytes) {
    std::memcpy(left.data(), first, Bytes);
    std::memcpy(right.data(), last, Bytes);
    std::memcpy(first, right.data(), Bytes);
    std::memcpy(last, left.data(), Bytes);
  }
}

void mirror_row(std::uint8_t* first, std::uint8_t* last, std::int64_t bytes) {
  for (; first < last; first += bytes, last -= bytes) std::swap_ranges(first, first + bytes, last);
}

void normalize_rgb8(const Image& image, const Normalization& normalization, float* output) {
  const std::int64_t area = image.height * image.width;
  const LevelTable levels = level_table(normalization);
  for (std::size_t c = 0; c < levels.size(); ++c) {
    for (std::int64_t i = 0; i < area; ++i)
      *output++ = levels[c][image.pixels[i * Image::kChannels + c]];
  }
}

/// output[c * area + i] = function(value c of pixel i, c).
template <class T, class Function>
void write_planes(const Image& image, float* output, const Function& function) {
  const std::int64_t area = image.height * image.width;
  const int channels = image.format.channels;
  const T* values = image.values<T>(0, 0);
  for (int c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < area; ++i)
      output[c * area + i] = function(static_cast<float>(values[i * channels + c]), c);
  }
}

}  // namespace

Image crop(const Image& image, std::int64_t top, std::int64_t left, ImageSize size) {
  Image result(size.height, size.width, image.format);
  const std::int64_t x0 = std::max<std::int64_t>(0, -left);
  const std::int64_t x1 = std::min(size.width, image.width - left);
  if (x0 >= x1) return result;
  for (std::int64_t y = std::max<std::int64_t>(0, -top);
       y < std::min(size.height, image.height - top); ++y)
    std::copy_n(image.at(y + top, x0 + left), (x1 - x0) * image.format.bytes(), result.at(y, x0));
  return result;
}

Image crop(const Image& image, const PixelBox& box, Padding padding, PixelBytes fill) {
  const ImageSize size = box.size();
  const std::int64_t bytes = image.format.bytes();
  check(fill.empty() || std::ssize(fill) == bytes, "crop: got a fill of ", fill.size(),
        " bytes, a pixel has ", bytes);
  const auto zero = [](std::uint8_t byte) { return byte == 0; };
  const bool black = padding == Padding::constant && std::all_of(fill.begin(), fill.end(), zero);
  if (is_inside(box, image.size()) || black) return crop(image, box.top, box.left, size);
  return gathered(image, sources(box.top, size.height, image.height, padding),
                  sources(box.left, size.width, image.width, padding), fill);
}

PixelBox center_box(ImageSize image, ImageSize size) {
  const std::int64_t top = centered(image.height, size.height);
  const std::int64_t left = centered(image.width, size.width);
  return {top, top + size.height, left, left + size.width};
}

PixelBox center_box_or_pad(ImageSize image, ImageSize size) {
  const auto start = [](std::int64_t whole, std::int64_t part) {
    return whole < part ? -((part - whole) / 2) : centered(whole, part);
  };
  const std::int64_t top = start(image.height, size.height), left = start(image.width, size.width);
  return {top, top + size.height, left, left + size.width};
}

ImageSize covering_size(ImageSize image, ImageSize size) {
  return size.height == size.width ? shorter_side(image, size.height) : covering(image, size);
}

Image resized(Image image, ImageSize size, Filter filter) {
  if (image.size() == size) return image;
  return resize(image, size, filter);
}

Image resized_part(const Image& image, ImageSize size, Filter filter, const PixelBox& box,
                   Padding padding, PixelBytes fill) {
  if (image.size() == size) return crop(image, box, padding, fill);
  if (is_inside(box, size)) return resize_part(image, size, filter, box);
  std::vector<std::int64_t> rows = sources(box.top, box.size().height, size.height, padding);
  std::vector<std::int64_t> columns = sources(box.left, box.size().width, size.width, padding);
  const auto [top, bottom] = range_of(rows);
  const auto [left, right] = range_of(columns);
  if (top == bottom || left == right) return gathered(image, rows, columns, fill);
  for (std::int64_t& row : rows) row -= row < 0 ? 0 : top;
  for (std::int64_t& column : columns) column -= column < 0 ? 0 : left;
  return gathered(resize_part(image, size, filter, {top, bottom, left, right}), rows, columns,
                  fill);
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
  const std::int64_t bytes = image.format.bytes();
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::uint8_t *first = image.at(y, 0), *last = image.at(y, image.width - 1);
    if (bytes == Image::kChannels)
      mirror_row<Image::kChannels>(first, last);
    else
      mirror_row(first, last, bytes);
  }
  return image;
}

Image flip_vertical(Image image) {
  const std::int64_t row = image.width * image.format.bytes();
  for (std::int64_t y = 0; y < image.height / 2; ++y)
    std::swap_ranges(image.at(y, 0), image.at(y, 0) + row, image.at(image.height - 1 - y, 0));
  return image;
}

Image turn(const Image& image, int quarters) {
  check(quarters % 2 == 0 || image.height == image.width, "turn: got an image of ", image.height,
        " x ", image.width, " for a quarter turn, expected a square image");
  const int times = (quarters % 4 + 4) % 4;
  if (times == 0) return image;
  Image result(image.height, image.width, image.format);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const std::int64_t up = image.height - 1 - y, back = image.width - 1 - x;
      const std::uint8_t* from = times == 1   ? image.at(x, image.width - 1 - y)
                                 : times == 2 ? image.at(up, back)
                                              : image.at(image.height - 1 - x, y);
      std::copy_n(from, image.format.bytes(), result.at(y, x));
    }
  }
  return result;
}

void planar_values(const Image& image, float* output) {
  if (image.pixels.empty()) return;
  with_pixel_type(image.format, [&](auto zero) {
    write_planes<decltype(zero)>(image, output, [](float value, int) { return value; });
  });
}

void planar_bytes(const Image& image, std::uint8_t* output) {
  const std::int64_t area = image.height * image.width;
  std::uint8_t *red = output, *green = red + area, *blue = green + area;
  const std::uint8_t* pixel = image.pixels.data();
  for (std::int64_t i = 0; i < area; ++i) {
    red[i] = pixel[Image::kChannels * i];
    green[i] = pixel[Image::kChannels * i + 1];
    blue[i] = pixel[Image::kChannels * i + 2];
  }
}

LevelTable level_table(const Normalization& normalization) {
  LevelTable table;
  for (std::size_t c = 0; c < table.size(); ++c) {
    for (std::size_t v = 0; v < table[c].size(); ++v)
      table[c][v] =
          (static_cast<float>(v) / 255 - normalization.mean[c]) / normalization.deviation[c];
  }
  return table;
}

void normalize(const Image& image, const Normalization& normalization, float* output) {
  if (image.is_rgb8()) return normalize_rgb8(image, normalization, output);
  if (image.pixels.empty()) return;
  with_pixel_type(image.format, [&](auto zero) {
    using T = decltype(zero);
    const float most =
        std::is_integral_v<T> ? static_cast<float>(std::numeric_limits<T>::max()) : 1;
    const bool as_colors = image.format.channels == Image::kChannels;
    write_planes<T>(image, output, [&](float value, int c) {
      const float x = value / most;
      return as_colors ? (x - normalization.mean[c]) / normalization.deviation[c] : x;
    });
  });
}

}  // namespace fovea
