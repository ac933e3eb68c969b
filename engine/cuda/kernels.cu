// The CUDA kernel table of the engine.
#include "engine/kernels.h"

#include "engine/cuda/copy.cuh"

namespace fovea::cuda {
namespace {

void copy(const CopyCall& c) {
  dispatch_any(c.to_dtype, [&](auto to) {
    using To = decltype(to);
    dispatch_any(c.from_dtype, [&](auto from) {
      run_copy(static_cast<To*>(c.to), static_cast<const decltype(from)*>(c.from), c.axes);
    });
  });
}

void add(const AddCall& c) {
  dispatch_float(c.to_dtype, [&](auto to) {
    using To = decltype(to);
    dispatch_float(c.from_dtype, [&](auto from) {
      run_add(static_cast<To*>(c.to), static_cast<const decltype(from)*>(c.from), c.axes);
    });
  });
}

void sum(const SumCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    run_sum(static_cast<T*>(c.y), static_cast<const T*>(c.x), c.kept, c.reduced);
  });
}

void finite(const FiniteCall& c) {
  cuda_check(cudaMemsetAsync(c.finite, 1, sizeof(*c.finite), current_stream()), "all_finite");
  dispatch_float(c.dtype, [&](auto tag) {
    run_finite(c.finite, static_cast<const decltype(tag)*>(c.x), c.axes);
  });
}

void fill(const FillCall& c) {
  dispatch_any(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    run_fill(static_cast<T*>(c.y), static_cast<T>(static_cast<acc_t<T>>(c.value)), c.axes);
  });
}

void late_sums(const std::span<const LateSumCall>& calls) {
  run_late_sums<float>(calls);
  run_late_sums<double>(calls);
}

}  // namespace

extern const DataKernels data_kernels;
constinit const DataKernels data_kernels{copy, add, sum, finite, fill, late_sums};

}  // namespace fovea::cuda
