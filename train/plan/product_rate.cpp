// Measurement of the matrix multiplication rate. Takes the best repetition, as disturbances only
// slow it down.
#include "train/plan/product_rate.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/autograd.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "engine/tensor.h"
#include "ops/matmul.h"

namespace fovea {
namespace {

/// The side of the matrices. A CPU's thread gets about a millisecond of work, less than a time
/// slice: with more, each repetition would be interrupted where other programs run.
std::int64_t side_for(Device device) {
  if (!device.is_cpu()) return 768;
  return std::lround(6 * std::cbrt(num_threads())) * 64;
}

}  // namespace

double measured_product_rate(DType dtype, Device device) {
  constexpr int kRepetitions = 6;
  const std::int64_t side = side_for(device);
  const NoGrad no_grad;
  const Tensor a = rand_normal({side, side}, {0, 1}, {1}).to(device).to(dtype);
  const Tensor b = rand_normal({side, side}, {0, 1}, {2}).to(device).to(dtype);
  double best = 1e9;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(ops::matmul(a, b).at(0));  // reading an element waits for the device
    const auto passed = std::chrono::steady_clock::now() - start;
    best = std::min(best, std::chrono::duration<double>(passed).count());
  }
  return 2 * std::pow(static_cast<double>(side), 3) / best;
}

}  // namespace fovea
