// Reading several device tensors with one copy: concatenated on the device, split on the CPU.
#include "train/loop/read_tensors_at_once.h"

#include "engine/autograd.h"
#include "ops/view.h"

namespace fovea {

JoinedTensors joined(const std::vector<Tensor>& tensors) {
  const NoGrad no_grad;
  DType widest = tensors.front().dtype();
  for (const Tensor& t : tensors) {
    if (size_of(t.dtype()) > size_of(widest)) widest = t.dtype();
  }
  JoinedTensors result;
  std::vector<Tensor> flat;
  for (const Tensor& t : tensors) {
    flat.push_back(ops::reshape(t.to(widest), {t.numel()}));
    result.shapes.push_back(t.shape());
  }
  result.values = ops::cat(flat, 0);
  return result;
}

std::vector<Tensor> read(const JoinedTensors& tensors) {
  const NoGrad no_grad;
  const Tensor all = tensors.values.to(Device{});
  std::vector<Tensor> parts;
  std::int64_t from = 0;
  for (const Shape& shape : tensors.shapes) {
    const std::int64_t to = from + shape.numel();
    parts.push_back(ops::reshape(ops::slice(all, 0, from, to), shape));
    from = to;
  }
  return parts;
}

std::vector<Tensor> read_tensors_at_once(const std::vector<Tensor>& tensors) {
  if (tensors.empty() || tensors.front().device().is_cpu()) return tensors;
  return read(joined(tensors));
}

}  // namespace fovea
