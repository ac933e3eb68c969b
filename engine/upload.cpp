// One copy on the upload stream, and the compute stream's wait for it.
#include "engine/upload.h"

#include "engine/cuda/runtime.h"

namespace fovea {

Tensor upload(const Tensor& x, Device device) {
  if (device.is_cpu() || x.device() == device || x.numel() == 0) return x.to(device);
  const cuda::Stream ops = cuda::Stream::current(device.index);
  Tensor there;
  {
    const cuda::StreamScope scope(cuda::Stream::upload(device.index));
    there = x.to(device);
  }
  ops.wait_for(cuda::Stream::upload(device.index));
  cuda::also_used_by(there.raw(), ops);
  return there;
}

}  // namespace fovea
