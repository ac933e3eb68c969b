// Prepares the call of the elementwise kernel: broadcasting and dtypes.
#include "ops/elementwise/map.h"

#include <algorithm>

#include "engine/copy.h"
#include "engine/strided.h"
#include "ops/elementwise/call.h"
#include "ops/kernels.h"

namespace fovea::ops::detail {
namespace {

/// The compute type: i64 for integers alone; f64 if any f64, or an i64 mixed with floats. Without
/// inputs the type of the output, with f32 for bf16.
DType compute_dtype(std::span<const Tensor> inputs, const Tensor& out) {
  if (inputs.empty()) return acc_dtype(out.dtype());
  bool any_float = false, wide = false;
  for (const Tensor& t : inputs) {
    any_float |= is_float(t.dtype());
    wide |= t.dtype() == DType::f64 || t.dtype() == DType::i64;
  }
  return !any_float ? DType::i64 : wide ? DType::f64 : DType::f32;
}

/// The widest float dtype among the inputs.
DType result_dtype(std::span<const Tensor> inputs) {
  DType widest = DType::u8;
  for (const Tensor& t : inputs) {
    if (is_float(t.dtype())) widest = std::min(widest, t.dtype());  // enum order: f64, f32, bf16
  }
  check(widest != DType::u8, "elementwise: got no operand of a float dtype");
  return widest;
}

MapCall make_call(const ErasedFunctor& functor, std::span<const Tensor> inputs, const Tensor& out) {
  std::array<Strides, MapCall::kMaxInputs> strides;
  strides.fill(contiguous_strides(out.shape()));
  MapCall call;
  call.functor_id = functor.id;
  call.functor = functor.functor;
  call.inputs = static_cast<int>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    strides[i] = broadcast_strides(t.shape(), t.strides(), out.shape());
    call.in[i] = t.raw();
    call.in_dtype[i] = t.dtype();
  }
  call.axes = merged_axes(out.shape(), strides);
  call.compute = compute_dtype(inputs, out);
  check(call.compute != DType::i64 || functor.takes_integers,
        "elementwise: got only integer operands, expected a float dtype");
  call.out = out.raw();
  call.out_dtype = out.dtype();
  return call;
}

void run(const ErasedFunctor& functor, std::span<const Tensor> inputs, const Tensor& out) {
  if (out.numel() == 0) return;
  kernels(out.device()).elementwise.map(make_call(functor, inputs, out));
}

/// True if the kernel would overwrite elements that it still reads. It may compute in place: it
/// reads each element before it writes to the same address.
bool overlaps_input(const Tensor& out, std::span<const Tensor> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& t) {
    const bool in_place = t.raw() == out.raw() && t.dtype() == out.dtype() &&
                          t.shape() == out.shape() && t.is_contiguous();
    return t.storage() == out.storage() && !in_place;
  });
}

}  // namespace

Tensor map_erased(const ErasedFunctor& functor, std::span<const Tensor> inputs, Tensor out) {
  const Device device = inputs[0].device();
  Shape shape = inputs[0].shape();
  for (const Tensor& t : inputs.subspan(1)) {
    shape = broadcast("elementwise", shape, t.shape());
    check(t.device() == device, "elementwise: operands on ", device, " and ", t.device(),
          ", expected one device");
  }
  if (!out.defined()) {
    out = empty(shape, {result_dtype(inputs), device});
  } else {
    check(out.shape() == shape && out.device() == device, "elementwise: the output has shape ",
          out.shape(), " on ", out.device(), ", expected ", shape, " on ", device);
    if (!out.is_contiguous() || overlaps_input(out, inputs)) {
      const Tensor fresh = empty(shape, out.options());
      copy_into(out, map_erased(functor, inputs, fresh));
      return out;
    }
    out.bump_version();
  }
  run(functor, inputs, out);
  return out;
}

Tensor generate_erased(const ErasedFunctor& functor, const Shape& shape, TensorOptions options) {
  const Tensor out = empty(shape, options);
  run(functor, {}, out);
  return out;
}

}  // namespace fovea::ops::detail
