// Instantiates the elementwise kernel for every functor of the lists.
#include "ops/cuda/elementwise.h"

#include <array>

#include "ops/cuda/elementwise.cuh"

namespace fovea::cuda {
namespace {

using MapFn = void (*)(const void* functor, const MapArgs& args);
struct MapFns {
  MapFn f64 = nullptr, f32 = nullptr, i64 = nullptr;
};

template <class F>
constexpr MapFns map_fns() {
  if constexpr (ops::detail::TakesIntegers<F>) {
    return {run_map<F, double>, run_map<F, float>, run_map<F, std::int64_t>};
  } else {
    return {run_map<F, double>, run_map<F, float>, nullptr};
  }
}

template <class... F>
constexpr auto table_of(ops::detail::TypeList<F...>) {
  return std::array<MapFns, sizeof...(F)>{map_fns<F>()...};
}

MapArgs plain(const ops::detail::MapCall& call) {
  MapArgs args;
  args.rank = call.shape.rank();
  args.count = call.shape.numel();
  args.out = call.out;
  args.out_dtype = call.out_dtype;
  for (int axis = 0; axis < args.rank; ++axis) args.shape[axis] = call.shape[axis];
  for (int k = 0; k < call.inputs; ++k) {
    args.in[k] = call.in[k];
    args.in_dtype[k] = call.in_dtype[k];
    for (int axis = 0; axis < args.rank; ++axis) args.strides[k][axis] = call.in_strides[k][axis];
  }
  return args;
}

}  // namespace

void map(int functor_id, const ops::detail::MapCall& call, int device) {
  static constexpr auto table = table_of(ops::detail::AllFunctors{});
  const MapFns& fns = table[static_cast<std::size_t>(functor_id)];
  const MapFn run = call.compute == DType::f64   ? fns.f64
                    : call.compute == DType::f32 ? fns.f32
                                                 : fns.i64;
  check(run != nullptr, "elementwise: got only integer operands, expected a float dtype");
  cuda_check(cudaSetDevice(device), "cudaSetDevice");
  run(call.functor, plain(call));
}

}  // namespace fovea::cuda
