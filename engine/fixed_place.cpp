// Copies of whole tensors as bytes.
#include "engine/fixed_place.h"

#include "engine/base/error.h"
#include "engine/copy.h"
#include "engine/cuda/runtime.h"

namespace fovea {

Tensor place_for(const Tensor& x) { return empty(x.shape(), x.options()); }

void put_into(const Tensor& place, const Tensor& x) {
  const bool fits = place.shape() == x.shape() && place.dtype() == x.dtype();
  check(fits, "put_into: got ", x.dtype(), " ", x.shape(), ", expected ", place.dtype(), " ",
        place.shape());
  const bool is_bytes = x.device().is_cuda() && place.device() == x.device() && x.is_contiguous() &&
                        place.is_contiguous();
  if (!is_bytes) return copy_into(place, x);
  cuda::copy_device_to_device(place.raw(), place.device().index, x.raw(), x.device().index,
                              static_cast<std::size_t>(x.byte_count()));
  place.bump_version();
}

}  // namespace fovea
