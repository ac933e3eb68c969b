// Pixels and labels of tensors as samples.
#include "python/bindings/array_images.h"

#include <algorithm>
#include <string_view>

#include "engine/base/crc32c.h"
#include "engine/base/error.h"

namespace fovea::python {

ArrayImages::ArrayImages(const Tensor& images, const Tensor& labels, std::int64_t classes,
                         const std::string& what) {
  const Shape& shape = images.shape();
  check(shape.rank() == 4 && shape[3] == 3 && images.dtype() == DType::u8 && shape.numel() > 0,
        what, ": got images of shape ", shape, " and dtype ", images.dtype(),
        ", expected u8 [N, H, W, 3]");
  check(labels.shape() == Shape{shape[0]} && labels.dtype() == DType::i64, what,
        ": got labels of shape ", labels.shape(), " and dtype ", labels.dtype(), ", expected i64 [",
        shape[0], "]");
  images_ = images.detach().contiguous();
  labels_ = labels.detach().contiguous();
  const std::int64_t* const first = labels_.data<std::int64_t>();
  const auto [lowest, highest] = std::minmax_element(first, first + size());
  check(*lowest >= 0 && *highest < classes, what, ": got labels from ", *lowest, " to ", *highest,
        ", expected 0 to ", classes - 1);
  for (std::int64_t i = 0; i < classes; ++i) names_.push_back("class " + std::to_string(i));
}

const std::uint8_t* ArrayImages::pixels(std::int64_t index) const {
  check_index(index, "images");
  return images_.data<std::uint8_t>() + index * bytes();
}

Sample ArrayImages::get(std::int64_t index) const {
  Sample sample{Image(images_.size(1), images_.size(2)), label(index)};
  std::copy_n(pixels(index), bytes(), sample.image.pixels.begin());
  return sample;
}

std::int64_t ArrayImages::label(std::int64_t index) const {
  check_index(index, "labels");
  return labels_.data<std::int64_t>()[index];
}

void ArrayImages::list_entry(std::int64_t index, ListEntry& entry) const {
  const std::string_view all(reinterpret_cast<const char*>(pixels(index)),
                             static_cast<std::size_t>(bytes()));
  entry.name = std::to_string(index) + " " + std::to_string(crc32c(all));
  entry.label = label(index);
}

}  // namespace fovea::python
