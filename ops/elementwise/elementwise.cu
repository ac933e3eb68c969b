// The elementwise kernels on CUDA: any functor of the lists over inputs of any dtype. Contiguous
// inputs go eight elements at a time, in accesses of 16 bytes; strided and broadcast ones one by
// one.
#include <utility>

#include "engine/cuda/items.cuh"
#include "ops/elementwise/call.h"
#include "ops/elementwise/functor_list.h"

namespace fovea::ops::cuda {

using fovea::cuda::blocks_for;
using fovea::cuda::current_stream;
using fovea::cuda::grid_thread;
using fovea::cuda::grid_threads;
using fovea::cuda::Items;
using fovea::cuda::launch;

/// Element `offset` of an array of any dtype, converted to the compute type A.
template <class A>
FOVEA_HD A load_as(const void* data, DType dtype, std::int64_t offset) {
  switch (dtype) {
    case DType::f64:
      return static_cast<A>(static_cast<const double*>(data)[offset]);
    case DType::f32:
      return static_cast<A>(static_cast<const float*>(data)[offset]);
    case DType::bf16:
      return static_cast<A>(static_cast<float>(static_cast<const bf16*>(data)[offset]));
    case DType::i64:
      return static_cast<A>(static_cast<const std::int64_t*>(data)[offset]);
    default:
      return static_cast<A>(static_cast<const std::uint8_t*>(data)[offset]);
  }
}

template <class A>
FOVEA_HD void store_as(void* data, DType dtype, std::int64_t offset, A value) {
  switch (dtype) {
    case DType::f64:
      static_cast<double*>(data)[offset] = static_cast<double>(value);
      break;
    case DType::f32:
      static_cast<float*>(data)[offset] = static_cast<float>(value);
      break;
    case DType::bf16:
      static_cast<bf16*>(data)[offset] = bf16(value);
      break;
    case DType::i64:
      static_cast<std::int64_t*>(data)[offset] = static_cast<std::int64_t>(value);
      break;
    default:
      static_cast<std::uint8_t*>(data)[offset] = static_cast<std::uint8_t>(value);
  }
}

template <class F, class A>
FOVEA_HD A apply_functor(const F& f, std::int64_t position, const A* x) {
  constexpr int kInputs = detail::functor_inputs<F>();
  if constexpr (detail::TakesIndex<F>) {
    if constexpr (kInputs == 0) return static_cast<A>(f(position));
    if constexpr (kInputs == 1) return f(position, x[0]);
    if constexpr (kInputs == 2) return f(position, x[0], x[1]);
  } else {
    if constexpr (kInputs == 1) return f(x[0]);
    if constexpr (kInputs == 2) return f(x[0], x[1]);
    if constexpr (kInputs == 3) return f(x[0], x[1], x[2]);
    if constexpr (kInputs == 4) return f(x[0], x[1], x[2], x[3]);
  }
}

/// Applies the functor to the inputs of element i. They are expanded as arguments, so that they
/// stay in registers.
template <class A, std::size_t... I>
FOVEA_HD void load_inputs(const MapCall& c, std::int64_t i, [[maybe_unused]] A* x,
                          std::index_sequence<I...>) {
  [[maybe_unused]] std::int64_t offsets[sizeof...(I) + 1] = {};
  for (int axis = c.axes.rank - 1; axis > 0; --axis) {
    const Division place = divide(i, c.axes.shape[axis]);
    i = place.quotient;
    ((offsets[I] += place.remainder * c.axes.strides[I][axis]), ...);
  }
  ((offsets[I] += i * c.axes.strides[I][0]), ...);
  ((x[I] = load_as<A>(c.in[I], c.in_dtype[I], offsets[I])), ...);
}

/// N elements of an array of any dtype. The dtype is tested once for all of them.
template <class A, int N>
__device__ Items<N, A> load_items(const void* data, DType dtype, std::int64_t first) {
  Items<N, A> items;
  const auto load = [&](auto zero) {
    using T = decltype(zero);
    const auto in = Items<N, T>::load(static_cast<const T*>(data) + first);
    for (int k = 0; k < N; ++k) items.v[k] = static_cast<A>(static_cast<acc_t<T>>(in.v[k]));
  };
  switch (dtype) {
    case DType::f64:
      load(double{});
      break;
    case DType::f32:
      load(float{});
      break;
    case DType::bf16:
      load(bf16{});
      break;
    case DType::i64:
      load(std::int64_t{});
      break;
    default:  // u8: eight elements are not 16 bytes
      for (int k = 0; k < N; ++k) items.v[k] = load_as<A>(data, dtype, first + k);
  }
  return items;
}
template <class A, int N>
__device__ void store_items(void* data, DType dtype, std::int64_t first, const Items<N, A>& items) {
  const auto store = [&](auto zero) {
    using T = decltype(zero);
    Items<N, T> out;
    for (int k = 0; k < N; ++k) out.v[k] = static_cast<T>(static_cast<acc_t<T>>(items.v[k]));
    out.store(static_cast<T*>(data) + first);
  };
  switch (dtype) {
    case DType::f64:
      return store(double{});
    case DType::f32:
      return store(float{});
    case DType::bf16:
      return store(bf16{});
    case DType::i64:
      return store(std::int64_t{});
    default:
      for (int k = 0; k < N; ++k) store_as<A>(data, dtype, first + k, items.v[k]);
  }
}

/// N elements of input I from position i on; all the same where it is repeated.
template <class A, int N>
__device__ Items<N, A> load_input(const MapCall& c, std::size_t input, std::int64_t i) {
  if (c.axes.strides[input][0] != 0) {
    return load_items<A, N>(c.in[input], c.in_dtype[input], i);
  }
  Items<N, A> items;
  const A value = load_as<A>(c.in[input], c.in_dtype[input], 0);
  for (int k = 0; k < N; ++k) items.v[k] = value;
  return items;
}

template <class A, int N, class F, std::size_t... I>
__device__ void map_items(const F& f, const MapCall& c, std::int64_t i, std::index_sequence<I...>) {
  [[maybe_unused]] const Items<N, A> in[sizeof...(I) + 1] = {load_input<A, N>(c, I, i)..., {}};
  Items<N, A> out;
  for (int k = 0; k < N; ++k) {
    const A x[sizeof...(I) + 1] = {in[I].v[k]..., A{}};
    out.v[k] = apply_functor<F, A>(f, i + k, x);
  }
  store_items<A, N>(c.out, c.out_dtype, i, out);
}

inline constexpr int kTogether = 8;

/// map_kernel() where is_contiguous().
template <class F, class A>
__global__ void map_items_kernel(F functor, const __grid_constant__ MapCall args) {
  const F f = detail::at_this_step(functor);
  constexpr auto kInputs = static_cast<std::size_t>(detail::functor_inputs<F>());
  fovea::cuda::for_items<kTogether>(args.axes.count, [&](std::int64_t i, auto n) {
    map_items<A, n>(f, args, i, std::make_index_sequence<kInputs>());
  });
}

/// Whether each input is one run of elements or a single one, and all runs are aligned.
inline bool is_contiguous(const MapCall& call) {
  bool is = call.axes.rank <= 1 && fovea::cuda::are_aligned({call.out});
  for (int k = 0; k < call.inputs; ++k) {
    const std::int64_t stride = call.axes.strides[k][0];
    is = is && (stride == 0 || (stride == 1 && fovea::cuda::are_aligned({call.in[k]})));
  }
  return is;
}

template <class F, class A>
__global__ void map_kernel(F functor, const __grid_constant__ MapCall args) {
  const F f = detail::at_this_step(functor);
  constexpr int kInputs = detail::functor_inputs<F>();
  for (std::int64_t i = grid_thread(); i < args.axes.count; i += grid_threads()) {
    A x[kInputs + 1];  // at least one element
    load_inputs(args, i, x, std::make_index_sequence<kInputs>());
    store_as<A>(args.out, args.out_dtype, i, apply_functor<F, A>(f, i, x));
  }
}

template <class F, class A>
void run_map(const MapCall& call) {
  constexpr unsigned kBlock = 256;
  const F& functor = *static_cast<const F*>(call.functor);
  const std::int64_t count = call.axes.count;
  if (is_contiguous(call)) {
    launch(current_stream(), map_items_kernel<F, A>, blocks_for(count / kTogether, kBlock), kBlock,
           0, functor, call);
  } else {
    launch(current_stream(), map_kernel<F, A>, blocks_for(count, kBlock), kBlock, 0, functor, call);
  }
}

using MapFn = void (*)(const MapCall&);
/// One kernel per compute type; the i64 kernel is null unless the functor supports integers.
struct MapFns {
  MapFn f64, f32, i64;
};
struct MapTable {
  MapFns of[detail::AllFunctors::kSize];  ///< indexed by functor_id
};

template <class F>
constexpr MapFns map_fns() {
  if constexpr (detail::TakesIntegers<F>) {
    return {run_map<F, double>, run_map<F, float>, run_map<F, std::int64_t>};
  } else {
    return {run_map<F, double>, run_map<F, float>, nullptr};
  }
}
template <class... F>
constexpr MapTable table_of(detail::TypeList<F...>) {
  return {{map_fns<F>()...}};
}

inline void map(const MapCall& call) {
  static constexpr MapTable table = table_of(detail::AllFunctors{});
  const MapFns& fns = table.of[call.functor_id];
  const MapFn run = call.compute == DType::f64   ? fns.f64
                    : call.compute == DType::f32 ? fns.f32
                                                 : fns.i64;
  run(call);
}

extern const ElementwiseKernels elementwise_kernels{map};

}  // namespace fovea::ops::cuda
