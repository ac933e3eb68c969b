// Reading several device tensors with one copy: concatenated on the device, split on the CPU.
#include "train/loop/read_tensors_at_once.h"

#include "engine/autograd.h"
#include "ops/view.h"

namespace fovea {

std::vector<Tensor> read_tensors_at_once(const std::vector<Tensor>& tensors) {
  const NoGrad no_grad;
  if (tensors.empty() || tensors.front().device().is_cpu()) return tensors;
  DType widest = tensors.front().dtype();
  for (const Tensor& t : tensors) {
    if (size_of(t.dtype()) > size_of(widest)) widest = t.dtype();
  }
  std::vector<Tensor> flat;
  for (const Tensor& t : tensors) flat.push_back(ops::reshape(t.to(widest), {t.numel()}));
  const Tensor all = ops::cat(flat, 0).to(Device{});
  std::vector<Tensor> parts;
  std::int64_t from = 0;
  for (const Tensor& t : tensors) {
    parts.push_back(ops::reshape(ops::slice(all, 0, from, from + t.numel()), t.shape()));
    from += t.numel();
  }
  return parts;
}

}  // namespace fovea
