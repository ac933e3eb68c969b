// Pixels, or values, and labels of tensors as samples.
#include "python/bindings/array_images.h"

#include <algorithm>
#include <cstring>

#include "engine/base/crc32c.h"
#include "engine/base/error.h"

namespace fovea::python {

namespace {

/// Packed, integers as i64.
Tensor packed_labels(const Tensor& labels) {
  const Tensor packed = labels.detach().contiguous();
  return is_float(labels.dtype()) ? packed : packed.to(DType::i64);
}

/// How images in another layout become those that are expected; else empty.
std::string remedy(const Tensor& images) {
  const Shape& shape = images.shape();
  const bool is_u8 = images.dtype() == DType::u8, has_four = shape.rank() == 4;
  if (is_u8 && shape.rank() == 3 && shape[2] == 3) return "; images[None] makes one a batch";
  if (is_u8 && shape.rank() == 3)
    return "; np.repeat(images[..., None], 3, axis=3) makes grey ones RGB";
  if (is_u8 && has_four && shape[3] == 1)
    return "; np.repeat(images, 3, axis=3) makes grey ones RGB";
  if (is_u8 && has_four && shape[1] == 3)
    return "; images.transpose(0, 2, 3, 1) moves the channels";
  return "";
}

/// Values whose last axis looks like the channels.
bool are_channels_last(const Shape& shape) {
  return (shape[3] == 1 || shape[3] == 3) && shape[1] > 4;
}

}  // namespace

std::vector<std::string> numbered_classes(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back("class " + std::to_string(i));
  return names;
}

std::string name_in_lists(std::int64_t index, std::uint32_t checksum) {
  return std::to_string(index) + " " + std::to_string(checksum);
}

std::int64_t classes_of(const Tensor& labels) {
  if (is_float(labels.dtype()) || labels.numel() == 0) return 0;
  const Tensor packed = packed_labels(labels);
  const std::int64_t* const first = packed.data<std::int64_t>();
  return *std::max_element(first, first + packed.numel()) + 1;
}

ArrayImages::ArrayImages(const Tensor& images, const Tensor& labels, std::int64_t classes,
                         const std::string& what)
    : images_(images.detach().contiguous()), labels_(packed_labels(labels)) {
  const Shape& shape = images.shape();
  const bool is_u8 = shape.rank() == 4 && shape[3] == 3 && images.dtype() == DType::u8;
  const bool is_f32 = shape.rank() == 4 && images.dtype() == DType::f32;
  check((is_u8 || is_f32) && shape.numel() > 0, what, ": got images of shape ", shape,
        " and dtype ", images.dtype(), ", expected u8 [N, H, W, 3] or f32 [N, C, H, W]",
        remedy(images));
  check(!is_f32 || !are_channels_last(shape), what, ": got images f32 ", shape,
        ", expected [N, C, H, W]; images.transpose(0, 3, 1, 2) moves the channels");
  check(labels.shape() == Shape{shape[0]} && !is_float(labels.dtype()), what,
        ": got labels of shape ", labels.shape(), " and dtype ", labels.dtype(),
        ", expected integers [", shape[0], "]");
  const std::int64_t* const first = labels_.data<std::int64_t>();
  const auto [lowest, highest] = std::minmax_element(first, first + size());
  check(*lowest >= 0 && *highest < classes, what, ": got labels from ", *lowest, " to ", *highest,
        ", expected 0 to ", *lowest < 0 ? "K - 1" : std::to_string(classes - 1));
  names_ = numbered_classes(classes);
}

ImageSize ArrayImages::image_size() const {
  return has_pixels() ? ImageSize{images_.size(1), images_.size(2)}
                      : ImageSize{images_.size(2), images_.size(3)};
}

PixelFormat ArrayImages::format() const {
  return has_pixels() ? PixelFormat{}
                      : PixelFormat{PixelType::f32, static_cast<int>(images_.size(1))};
}

std::int64_t ArrayImages::bytes() const {
  return images_.numel() / size() * static_cast<std::int64_t>(format().type);
}

const char* ArrayImages::data(std::int64_t index) const {
  check_index(index, "images");
  const void* const first = has_pixels() ? static_cast<const void*>(images_.data<std::uint8_t>())
                                         : static_cast<const void*>(images_.data<float>());
  return static_cast<const char*>(first) + index * bytes();
}

Sample ArrayImages::get(std::int64_t index) const {
  const auto [height, width] = image_size();
  Sample sample{Image(height, width, format()), label(index)};
  if (has_pixels()) {
    std::memcpy(sample.image.pixels.data(), data(index), sample.image.pixels.size());
    return sample;
  }
  const auto* const planes = reinterpret_cast<const float*>(data(index));
  auto* const values = sample.image.values<float>(0, 0);
  const std::int64_t area = height * width, channels = images_.size(1);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < area; ++i) values[i * channels + c] = planes[c * area + i];
  }
  return sample;
}

std::int64_t ArrayImages::label(std::int64_t index) const {
  check_index(index, "labels");
  return labels_.data<std::int64_t>()[index];
}

std::uint32_t ArrayImages::checksum(std::int64_t index) const {
  return crc32c({data(index), static_cast<std::size_t>(bytes())});
}

void ArrayImages::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name = name_in_lists(index, checksum(index));
  entry.label = label(index);
}

}  // namespace fovea::python
