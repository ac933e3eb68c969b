// Random keys per image.
#include "train/tasks/image_keys.h"

#include <map>

#include "engine/random.h"
#include "ops/view.h"

namespace fovea {

std::vector<RandomKey> keys_of_images(const RandomKey& key, const Tensor& indices) {
  std::map<std::int64_t, std::uint64_t> met;
  std::vector<RandomKey> keys;
  for (std::int64_t b = 0; b < indices.size(0); ++b) {
    const std::int64_t index = indices.data<std::int64_t>()[b];
    keys.push_back(
        {key.seed, stream_of(key.stream, static_cast<std::uint64_t>(index), met[index]++)});
  }
  return keys;
}

Tensor noise_of_images(const RandomKey& key, const Tensor& indices, const Shape& shape) {
  std::vector<Tensor> rows;
  for (const RandomKey& own : keys_of_images(key, indices)) {
    rows.push_back(rand_normal(shape, {0, 1}, own));
  }
  return ops::stack(rows, 0);
}

}  // namespace fovea
