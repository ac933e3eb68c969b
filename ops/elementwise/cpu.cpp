// The elementwise loops. Work is split into tiles of kTile elements: strided, broadcast or
// converted inputs are packed into a tile of the compute type, then one loop per functor and
// compute type runs over packed elements. Packed inputs of the compute type are read in place.
#include <cstddef>

#include "engine/parallel.h"
#include "ops/common/cpu/sizes.h"
#include "ops/elementwise/call.h"
#include "ops/elementwise/cpu_bf16_functors.h"
#include "ops/elementwise/functor_list.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

constexpr std::int64_t kTile = 512;
constexpr std::int64_t kChunk = 1 << 15;  // elements per thread at a time

/// Applies the functor to packed elements; `out` may be one of the inputs. The double of a
/// generator is rounded to A.
template <class F, class A, class... X>
void loop(const F& f, std::int64_t first, std::int64_t count, A* out, const X*... x) {
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"  // some functors have no vector form
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (detail::TakesIndex<F>) {
      out[i] = static_cast<A>(f(first + i, x[i]...));
    } else {
      out[i] = f(x[i]...);
    }
  }
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
}

template <class F, class A>
void tile(const void* functor, void* out, const void* const* in, std::int64_t first,
          std::int64_t count) {
  const F f = detail::at_this_step(*static_cast<const F*>(functor));
  A* const y = static_cast<A*>(out);
  const auto x = [&](int i) { return static_cast<const A*>(in[i]); };
  constexpr int kInputs = detail::functor_inputs<F>();
  if constexpr (kInputs == 0) {
    loop(f, first, count, y);
  } else if constexpr (kInputs == 1) {
    loop(f, first, count, y, x(0));
  } else if constexpr (kInputs == 2) {
    loop(f, first, count, y, x(0), x(1));
  } else if constexpr (kInputs == 3) {
    loop(f, first, count, y, x(0), x(1), x(2));
  } else {
    loop(f, first, count, y, x(0), x(1), x(2), x(3));
  }
}

/// out[i] = functor(in[0][i], ...) for i < count; element 0 has the row-major position `first`.
using TileFn = void (*)(const void* functor, void* out, const void* const* in, std::int64_t first,
                        std::int64_t count);
/// One loop per compute type, in f32 another one for results in bf16; the i64 loop is null unless
/// the functor supports integers.
struct TileFns {
  TileFn f64, f32, bf16, i64;
};

template <class F>
constexpr TileFns tile_fns() {
  TileFns fns{tile<F, double>, tile<F, float>, tile<typename InBf16<F>::type, float>, nullptr};
  if constexpr (detail::TakesIntegers<F>) fns.i64 = tile<F, std::int64_t>;
  return fns;
}

template <class To, class From>
[[gnu::always_inline]] inline To convert(From value) {
  return static_cast<To>(static_cast<acc_t<From>>(value));
}

/// One run along the last axis. The cases of repeated and of adjacent elements vectorise.
template <class From, class To>
void gather_run(const From* __restrict from, std::int64_t stride, std::int64_t count,
                To* __restrict to) {
  if (stride == 0) {
    const To value = convert<To>(*from);
    for (std::int64_t i = 0; i < count; ++i) to[i] = value;
  } else if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i * stride]);
  }
}

/// Packs the elements [first, first + count) of input k, in row-major order, converted to To.
template <class From, class To>
void gather(const MapCall& call, int k, std::int64_t first, std::int64_t count, void* tile) {
  const auto* const from = static_cast<const From*>(call.in[k]);
  const std::int64_t* const strides = call.axes.strides[k];
  auto* to = static_cast<To*>(tile);
  std::int64_t at[StridedAxes<MapCall::kMaxInputs>::kMaxRank];
  std::int64_t rest = first, offset = 0;
  for (int axis = call.axes.rank - 1; axis >= 0; --axis) {
    at[axis] = rest % call.axes.shape[axis];
    rest /= call.axes.shape[axis];
    offset += at[axis] * strides[axis];
  }
  const int last = call.axes.rank - 1;
  std::int64_t left = count;
  while (true) {
    const std::int64_t in_row = call.axes.shape[last] - at[last];
    const std::int64_t run = left < in_row ? left : in_row;
    gather_run(from + offset, strides[last], run, to);
    to += run;
    left -= run;
    if (left == 0) return;
    offset -= at[last] * strides[last];
    at[last] = 0;
    for (int axis = last - 1; axis >= 0; --axis) {  // carry
      offset += strides[axis];
      if (++at[axis] < call.axes.shape[axis]) break;
      offset -= at[axis] * strides[axis];
      at[axis] = 0;
    }
  }
}

template <class To, class From>
void store(void* out, const void* tile, std::int64_t count) {
  auto* __restrict to = static_cast<To*>(out);
  const auto* __restrict from = static_cast<const From*>(tile);
  for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}

using GatherFn = void (*)(const MapCall&, int, std::int64_t, std::int64_t, void*);
using StoreFn = void (*)(void*, const void*, std::int64_t);

struct Loops {
  TileFns tiles[detail::AllFunctors::kSize];  ///< indexed by functor_id
};
template <class... F>
constexpr Loops loops_of(detail::TypeList<F...>) {
  return {{tile_fns<F>()...}};
}
constexpr Loops kLoops = loops_of(detail::AllFunctors{});

/// Conversions between any dtype and the compute type.
template <class A>
GatherFn gather_fn(DType dtype) {
  return dispatch_any(dtype, [](auto tag) -> GatherFn { return gather<decltype(tag), A>; });
}
template <class A>
StoreFn store_fn(DType dtype) {
  return dispatch_any(dtype, [](auto tag) -> StoreFn { return store<decltype(tag), A>; });
}

/// Runs one call in compute type A.
template <class A>
class Map {
 public:
  Map(const MapCall& call, TileFn tile)
      : call_(call), tile_(tile), store_(store_fn<A>(call.out_dtype)) {
    for (int k = 0; k < call.inputs; ++k) {
      direct_[k] = call.in_dtype[k] == dtype_of<A> && is_packed(k);
      gather_[k] = gather_fn<A>(call.in_dtype[k]);
    }
  }

  void run() const {
    parallel_for(call_.axes.count, kChunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += kTile) {
        run_tile(first, smaller(kTile, end - first));
      }
    });
  }

 private:
  [[nodiscard]] bool is_packed(int k) const {
    std::int64_t step = 1;
    for (int axis = call_.axes.rank - 1; axis >= 0; --axis) {
      if (call_.axes.strides[k][axis] != step) return false;
      step *= call_.axes.shape[axis];
    }
    return true;
  }

  void run_tile(std::int64_t first, std::int64_t count) const {
    alignas(64) A scratch[MapCall::kMaxInputs + 1][kTile];
    const void* in[MapCall::kMaxInputs] = {};
    for (int k = 0; k < call_.inputs; ++k) {
      if (direct_[k]) {
        in[k] = static_cast<const A*>(call_.in[k]) + first;
      } else {
        gather_[k](call_, k, first, count, scratch[k]);
        in[k] = scratch[k];
      }
    }
    auto* const out = static_cast<std::byte*>(call_.out) +
                      first * static_cast<std::int64_t>(size_of(call_.out_dtype));
    if (call_.out_dtype == dtype_of<A>) return tile_(call_.functor, out, in, first, count);
    A* const packed = scratch[MapCall::kMaxInputs];
    tile_(call_.functor, packed, in, first, count);
    store_(out, packed, count);
  }

  const MapCall& call_;
  TileFn tile_;
  StoreFn store_;
  GatherFn gather_[MapCall::kMaxInputs] = {};
  bool direct_[MapCall::kMaxInputs] = {};
};

void map(const MapCall& call) {
  const TileFns& loops = kLoops.tiles[call.functor_id];
  switch (call.compute) {
    case DType::f64:
      return Map<double>(call, loops.f64).run();
    case DType::i64:
      return Map<std::int64_t>(call, loops.i64).run();
    default:
      return Map<float>(call, call.out_dtype == DType::bf16 ? loops.bf16 : loops.f32).run();
  }
}

}  // namespace

extern const ElementwiseKernels elementwise_kernels{map};

}  // namespace fovea::ops::cpu::FOVEA_ISA
