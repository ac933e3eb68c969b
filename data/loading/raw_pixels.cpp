// Lists of boxes as tensors.
#include "data/loading/raw_pixels.h"

#include <algorithm>
#include <utility>

#include "data/geometry/transforms.h"

namespace fovea {
namespace {

constexpr std::int64_t kBoxNumbers = 6;

Tensor levels_of(const Normalization& normalization) {
  Tensor levels = empty({Image::kChannels, 256});
  float* to = levels.data<float>();
  for (const auto& channel : level_table(normalization))
    to = std::copy(channel.begin(), channel.end(), to);
  return levels;
}

/// The boxes of each row, and what fills them.
std::pair<Tensor, Tensor> lists_of(const std::vector<std::vector<Erasure>>& erased) {
  std::size_t most = 1;
  for (const std::vector<Erasure>& row : erased) most = std::max(most, row.size());
  Tensor boxes =
      zeros({std::ssize(erased), static_cast<std::int64_t>(most), kBoxNumbers}, {DType::i64, {}});
  std::vector<float> fills;
  std::int64_t* to = boxes.data<std::int64_t>();
  for (const std::vector<Erasure>& row : erased) {
    std::int64_t* number = to;
    for (const auto& [box, fill] : row) {
      for (const std::int64_t side : {box.top, box.bottom, box.left, box.right}) *number++ = side;
      *number++ = std::ssize(fills);
      *number++ = std::ssize(fill) == Image::kChannels ? 0 : 1;
      fills.insert(fills.end(), fill.begin(), fill.end());
    }
    to += static_cast<std::int64_t>(most) * kBoxNumbers;
  }
  Tensor values = empty({std::ssize(fills)});
  std::copy(fills.begin(), fills.end(), values.data<float>());
  return {boxes, values};
}

}  // namespace

RawPixels raw_pixels(const Normalization& normalization,
                     const std::vector<std::vector<Erasure>>& erased) {
  const auto [boxes, fills] = lists_of(erased);
  return {levels_of(normalization), boxes, fills, {}, {}};
}

}  // namespace fovea
