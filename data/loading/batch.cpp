// A batch's way to a device.
#include "data/loading/batch.h"

#include "engine/upload.h"

namespace fovea {

Batch uploaded(const Batch& batch, Device device) {
  const auto there = [&](const Tensor& x) { return x.defined() ? upload(x, device) : x; };
  return {there(batch.images), there(batch.labels), batch.indices, there(batch.targets),
          there(batch.noise)};
}

}  // namespace fovea
