// The loops behind map(), compiled once per instruction set.
#include "ops/cpu/elementwise.h"

#include "engine/dtype.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

/// The functor over packed elements.
template <class F, class A, class... X>
void loop(const F& f, std::int64_t first, std::int64_t count, A* __restrict out,
          const X* __restrict... x) {
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (detail::TakesIndex<F>) {
      out[i] = f(first + i, x[i]...);
    } else {
      out[i] = f(x[i]...);
    }
  }
}

template <class F, class A>
void tile(const void* functor, void* out, const void* const* in, std::int64_t first,
          std::int64_t count) {
  const F f = *static_cast<const F*>(functor);
  A* const y = static_cast<A*>(out);
  const auto x = [&](int i) { return static_cast<const A*>(in[i]); };
  constexpr int kInputs = detail::functor_inputs<F>();
  if constexpr (kInputs == 1) {
    loop(f, first, count, y, x(0));
  } else if constexpr (kInputs == 2) {
    loop(f, first, count, y, x(0), x(1));
  } else if constexpr (kInputs == 3) {
    loop(f, first, count, y, x(0), x(1), x(2));
  } else {
    loop(f, first, count, y, x(0), x(1), x(2), x(3));
  }
}

template <class F>
constexpr TileFns tile_fns() {
  if constexpr (detail::TakesIntegers<F>) {
    return {tile<F, double>, tile<F, float>, tile<F, std::int64_t>};
  } else {
    return {tile<F, double>, tile<F, float>, nullptr};
  }
}

template <class To, class From>
[[gnu::always_inline]] inline To convert(From value) {
  return static_cast<To>(static_cast<acc_t<From>>(value));
}

/// One run along the last axis. Repeated and adjacent elements are the cases that vectorise.
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

template <class From, class To>
void gather(const GatherCall& call) {
  const auto* from = reinterpret_cast<const From*>(call.from);
  auto* to = static_cast<To*>(call.to);
  constexpr int kMaxRank = 6;
  std::int64_t at[kMaxRank];
  std::int64_t rest = call.first, offset = 0;
  for (int axis = call.rank - 1; axis >= 0; --axis) {
    at[axis] = rest % call.shape[axis];
    rest /= call.shape[axis];
    offset += at[axis] * call.strides[axis];
  }
  const int last = call.rank - 1;
  std::int64_t left = call.count;
  while (true) {
    const std::int64_t in_row = call.shape[last] - at[last];
    const std::int64_t run = left < in_row ? left : in_row;
    gather_run(from + offset, call.strides[last], run, to);
    to += run;
    left -= run;
    if (left == 0) return;
    offset -= at[last] * call.strides[last];
    at[last] = 0;
    for (int axis = last - 1; axis >= 0; --axis) {  // carry
      offset += call.strides[axis];
      if (++at[axis] < call.shape[axis]) break;
      offset -= at[axis] * call.strides[axis];
      at[axis] = 0;
    }
  }
}

template <class To, class From>
void store(std::byte* out, const void* tile, std::int64_t count) {
  auto* __restrict to = reinterpret_cast<To*>(out);
  const auto* __restrict from = static_cast<const From*>(tile);
  for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}

// clang-format off
template <class... F>
constexpr ElementwiseKernels make_kernels(detail::TypeList<F...>) {
  using I = std::int64_t;
  using U = std::uint8_t;
  return {{tile_fns<F>()...},
          {{gather<double, double>, gather<double, float>, gather<double, I>},
           {gather<float, double>, gather<float, float>, gather<float, I>},
           {gather<bf16, double>, gather<bf16, float>, gather<bf16, I>},
           {gather<I, double>, gather<I, float>, gather<I, I>},
           {gather<U, double>, gather<U, float>, gather<U, I>}},
          {{store<double, double>, store<double, float>, store<double, I>},
           {store<float, double>, store<float, float>, store<float, I>},
           {store<bf16, double>, store<bf16, float>, store<bf16, I>},
           {store<I, double>, store<I, float>, store<I, I>},
           {store<U, double>, store<U, float>, store<U, I>}}};
}
// clang-format on

}  // namespace

extern const ElementwiseKernels elementwise_kernels;
constexpr ElementwiseKernels elementwise_kernels = make_kernels(detail::AllFunctors{});

}  // namespace fovea::ops::cpu::FOVEA_ISA
