// Measurement of the matrix multiplication rate. Takes the best repetition, as disturbances only
// slow it down.
#include "train/plan/product_rate.h"

#include <algorithm>
#include <chrono>

#include "engine/autograd.h"
#include "engine/tensor.h"
#include "ops/matmul.h"

namespace fovea {

double measured_product_rate(DType dtype, Device device) {
  constexpr std::int64_t kSide = 768;
  constexpr int kRepetitions = 6;
  const NoGrad no_grad;
  const Tensor a = rand_normal({kSide, kSide}, {0, 1}, {1}).to(device).to(dtype);
  const Tensor b = rand_normal({kSide, kSide}, {0, 1}, {2}).to(device).to(dtype);
  double best = 1e9;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    static_cast<void>(ops::matmul(a, b).at(0));  // reading an element waits for the device
    const auto passed = std::chrono::steady_clock::now() - start;
    best = std::min(best, std::chrono::duration<double>(passed).count());
  }
  constexpr auto kSideAsReal = static_cast<double>(kSide);
  return 2 * kSideAsReal * kSideAsReal * kSideAsReal / best;
}

}  // namespace fovea
