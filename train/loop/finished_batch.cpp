// The step from a batch of pixels to one of values.
#include "train/loop/finished_batch.h"

#include "ops/pixels.h"

namespace fovea {

Batch finished(Batch batch) {
  if (!batch.raw) return batch;
  const auto& [levels, erased, fills, mixed, weights] = *batch.raw;
  batch.images = ops::finish_pixels(batch.images, {levels, erased, fills, mixed, weights});
  batch.raw.reset();
  return batch;
}

}  // namespace fovea
