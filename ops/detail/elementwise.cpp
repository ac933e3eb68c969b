// From tensors to elementwise loops: broadcasting, dtypes, tiles, threads.
#include "ops/detail/elementwise.h"

#include <algorithm>

#include "engine/copy.h"
#include "engine/strided.h"
#include "ops/cpu/elementwise.h"
#include "ops/cuda/elementwise.h"

namespace fovea::ops::detail {
namespace {

using cpu::kTile;

/// The type to compute in: integers alone as i64; f64 where an f64 or an i64 meets a float.
DType compute_dtype(std::span<const Tensor> inputs) {
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
    if (is_float(t.dtype())) widest = std::min(widest, t.dtype());  // in order: f64, f32, bf16
  }
  check(widest != DType::u8, "elementwise: got no operand of a float dtype");
  return widest;
}

MapCall make_call(const void* functor, std::span<const Tensor> inputs, const Tensor& out) {
  std::array<Strides, MapCall::kMaxInputs> strides;
  strides.fill(contiguous_strides(out.shape()));
  MapCall call;
  call.functor = functor;
  call.inputs = static_cast<int>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    strides[i] = broadcast_strides(t.shape(), t.strides(), out.shape());
    call.in[i] = t.raw();
    call.in_dtype[i] = t.dtype();
  }
  const StridedWalk<MapCall::kMaxInputs> walk(out.shape(), strides);
  call.shape = walk.shape;
  call.in_strides = walk.strides;
  call.compute = compute_dtype(inputs);
  call.out = out.raw();
  call.out_dtype = out.dtype();
  return call;
}

/// Runs the tiles of one call; one per thread and chunk.
class CpuMap {
 public:
  CpuMap(int functor_id, const MapCall& call) : call_(call), kernels_(cpu::elementwise_kernels()) {
    const cpu::TileFns& fns = kernels_.tiles[functor_id];
    tile_ = call.compute == DType::f64 ? fns.f64 : call.compute == DType::f32 ? fns.f32 : fns.i64;
    check(tile_ != nullptr, "elementwise: got only integer operands, expected a float dtype");
    compute_ = call.compute == DType::f64 ? 0 : call.compute == DType::f32 ? 1 : 2;
    const Strides packed = contiguous_strides(call.shape);
    for (int i = 0; i < call.inputs; ++i) {
      const auto k = static_cast<std::size_t>(i);
      direct_[k] = call.in_dtype[k] == call.compute && call.in_strides[k] == packed;
    }
  }

  void run(std::int64_t begin, std::int64_t end) const {
    alignas(64) std::byte scratch[MapCall::kMaxInputs + 1][kTile * sizeof(double)];
    for (std::int64_t first = begin; first < end; first += kTile) {
      run_tile(first, std::min(kTile, end - first), scratch);
    }
  }

 private:
  using Scratch = std::byte[kTile * sizeof(double)];

  void run_tile(std::int64_t first, std::int64_t count, Scratch* scratch) const {
    const void* in[MapCall::kMaxInputs] = {};
    for (int i = 0; i < call_.inputs; ++i) in[i] = input(i, first, count, scratch[i]);
    const auto offset = first * static_cast<std::int64_t>(size_of(call_.out_dtype));
    std::byte* const out = call_.out + offset;
    if (call_.out_dtype == call_.compute) {
      tile_(call_.functor, out, in, first, count);
      return;
    }
    std::byte* const packed = scratch[MapCall::kMaxInputs];
    tile_(call_.functor, packed, in, first, count);
    kernels_.store[static_cast<int>(call_.out_dtype)][compute_](out, packed, count);
  }

  const void* input(int i, std::int64_t first, std::int64_t count, std::byte* scratch) const {
    const auto k = static_cast<std::size_t>(i);
    if (direct_[k]) {
      return call_.in[k] + first * static_cast<std::int64_t>(size_of(call_.compute));
    }
    kernels_.gather[static_cast<int>(call_.in_dtype[k])][compute_](
        {.from = call_.in[k],
         .shape = call_.shape.begin(),
         .strides = call_.in_strides[k].begin(),
         .rank = call_.shape.rank(),
         .first = first,
         .count = count,
         .to = scratch});
    return scratch;
  }

  const MapCall& call_;
  const cpu::ElementwiseKernels& kernels_;
  cpu::TileFn tile_ = nullptr;
  int compute_ = 0;
  std::array<bool, MapCall::kMaxInputs> direct_{};
};

void map_cpu(int functor_id, const MapCall& call) {
  constexpr std::int64_t kChunk = 1 << 15;
  const CpuMap map(functor_id, call);
  parallel_for(call.shape.numel(), kChunk,
               [&](std::int64_t begin, std::int64_t end) { map.run(begin, end); });
}

bool overlaps_input(const Tensor& out, std::span<const Tensor> inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& t) { return t.storage() == out.storage(); });
}

}  // namespace

Tensor map_erased(int functor_id, const void* functor, std::span<const Tensor> inputs, Tensor out) {
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
      copy_into(out, map_erased(functor_id, functor, inputs, fresh));
      return out;
    }
    out.bump_version();
  }
  if (out.numel() == 0) return out;
  const MapCall call = make_call(functor, inputs, out);
  if (device.is_cuda()) {
    cuda::map(functor_id, call, device.index);
  } else {
    map_cpu(functor_id, call);
  }
  return out;
}

}  // namespace fovea::ops::detail
