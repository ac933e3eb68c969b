// A batch's way to a device.
#include "data/loading/batch.h"

#include "engine/upload.h"

namespace fovea {

Batch uploaded(const Batch& batch, Device device) {
  Batch there = batch;
  for (Tensor* const part : {&there.images, &there.labels, &there.targets, &there.noise}) {
    if (part->defined()) *part = upload(*part, device);
  }
  return there;
}

}  // namespace fovea
