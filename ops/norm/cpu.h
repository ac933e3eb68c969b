// The CPU normalisation kernels and their helpers; cpu_planes.cpp defines the table.
#pragma once

#include "ops/common/cpu/lanes.h"
#include "ops/norm/call.h"

namespace fovea::ops::cpu::FOVEA_ISA::norm {

void layer_norm(const LayerNormCall& call);           // cpu_rows.cpp
void layer_norm_grad(const LayerNormGradCall& call);  // cpu_rows.cpp

template <class T>
acc_t<T> sum_of(const T* x, std::int64_t n) {
  using A = acc_t<T>;
  LaneSum<A> sum;
  for_lanes<A>(n, [&](auto at, std::int64_t i) { sum.add(at, at.load(x + i)); });
  return sum.total();
}

template <class T>
acc_t<T> centred_squares(const T* x, std::int64_t n, acc_t<T> mean) {
  using A = acc_t<T>;
  LaneSum<A> sum;
  for_lanes<A>(n, [&](auto at, std::int64_t i) {
    const auto d = at.load(x + i) - mean;
    sum.add(at, d * d);
  });
  return sum.total();
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::norm
