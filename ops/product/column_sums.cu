// Sums of the columns of a matrix on CUDA, a thread each, rows in their order.
#include "engine/cuda/launch.cuh"
#include "ops/product/cuda.h"

namespace fovea::ops::cuda {

template <class T>
__global__ void column_sums_kernel(acc_t<T>* sums, const T* x, std::int64_t rows,
                                   std::int64_t cols) {
  for (std::int64_t j = fovea::cuda::grid_thread(); j < cols; j += fovea::cuda::grid_threads()) {
    acc_t<T> sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += static_cast<acc_t<T>>(x[i * cols + j]);
    sums[j] = sum;
  }
}

void column_sums(const ColumnSumsCall& c) {
  constexpr unsigned kBlock = 128;
  if (c.cols == 0) return;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    fovea::cuda::launch(fovea::cuda::current_stream(), column_sums_kernel<T>,
                        fovea::cuda::blocks_for(c.cols, kBlock), kBlock, 0,
                        static_cast<acc_t<T>*>(c.sums), static_cast<const T*>(c.x), c.rows, c.cols);
  });
}

}  // namespace fovea::ops::cuda
