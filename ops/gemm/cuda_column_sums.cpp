// Column sums of a matrix on CUDA: sums runs of rows, then their sums, until one row is left.
#include "engine/cuda/launch.h"
#include "ops/gemm/cuda.h"
#include "ops/reduce/cuda.h"

namespace fovea::ops::cuda {

void column_sums(const ColumnSumsCall& c) {
  constexpr std::int64_t kRun = 64;
  if (c.cols == 0) return;
  PartialsCall round{c.dtype, 1, c.rows, c.cols, kRun, 0, c.x, nullptr};
  Storage sums;
  do {
    round.runs = c.rows == 0 ? 1 : (round.n + kRun - 1) / kRun;
    const Storage next = fovea::cuda::temporary(round.runs * c.cols, acc_dtype(c.dtype));
    round.results = round.runs == 1 ? c.sums : next.data();
    partial_sums(round);
    round.dtype = acc_dtype(c.dtype);
    round.n = round.runs;
    round.x = round.results;
    sums = next;
  } while (round.n > 1);
}

}  // namespace fovea::ops::cuda
