// The CUDA kernels on the emulator, against plain loops, in both thread orders; and the emulator's
// own promises.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/cuda/copy.cuh"
#include "engine/strided.h"
#include "ops/product/column_sums.cu"
#include "ops/softmax/softmax.cu"

using namespace fovea;
using emulate::Machine;
using emulate::Order;

namespace {

std::vector<double> wave(std::size_t n, double phase) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = 3 * std::sin(phase + 0.7 * static_cast<double>(i));
  return values;
}

/// Runs `kernels` with threads in both orders and requires the same bits.
template <class Run>
std::vector<double> in_both_orders(std::size_t n, Run run) {
  std::vector<double> first(n), second(n);
  Machine::instance().order = Order::forward;
  run(first.data());
  Machine::instance().order = Order::backward;
  run(second.data());
  Machine::instance().order = Order::forward;
  CHECK(std::memcmp(first.data(), second.data(), n * sizeof(double)) == 0);
  return first;
}

std::vector<double> plain_softmax(const std::vector<double>& x, std::size_t columns, bool log) {
  std::vector<double> y(x.size());
  for (std::size_t first = 0; first < x.size(); first += columns) {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += std::exp(x[first + i]);
    for (std::size_t i = 0; i < columns; ++i) {
      y[first + i] = log ? x[first + i] - std::log(sum) : std::exp(x[first + i]) / sum;
    }
  }
  return y;
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-12));
}

template <bool Log>
void check_softmax(std::size_t rows, std::size_t columns) {
  CAPTURE(columns);
  const std::size_t n = rows * columns;
  const std::vector<double> x = wave(n, 0.1), dy = wave(n, 2.0);
  const auto R = static_cast<std::int64_t>(rows), C = static_cast<std::int64_t>(columns);
  const std::vector<double> y = in_both_orders(n, [&](double* out) {
    ops::cuda::softmax_kernels.forward({DType::f64, Log, R, C, x.data(), out});
  });
  check_close(y, plain_softmax(x, columns, Log));
  const std::vector<double> dx = in_both_orders(n, [&](double* out) {
    ops::cuda::softmax_kernels.backward({DType::f64, Log, R, C, y.data(), dy.data(), out});
  });
  for (std::size_t r = 0; r < rows; ++r) {  // against central differences of <dy, y>
    const std::size_t at = r * columns + r % columns;
    const auto value = [&](double shift) {
      std::vector<double> moved = x;
      moved[at] += shift;
      const std::vector<double> out = plain_softmax(moved, columns, Log);
      return std::inner_product(out.begin(), out.end(), dy.begin(), 0.0);
    };
    CHECK(dx[at] == doctest::Approx((value(1e-6) - value(-1e-6)) / 2e-6).epsilon(1e-6));
  }
}

__global__ void diverging_kernel() {
  if (threadIdx.x == 3) return;
  __syncthreads();
}

__global__ void racing_kernel(double* out) { out[0] = threadIdx.x; }

__global__ void reversing_kernel(int* out) {
  int* const box = cuda::dynamic_shared<int>();
  box[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = box[blockDim.x - 1 - threadIdx.x];
}

}  // namespace

TEST_CASE("softmax and log-softmax are right at and around warp and block edges") {
  for (const std::size_t columns : {1, 2, 31, 32, 33, 127, 128, 129, 257, 1025}) {
    check_softmax<false>(3, columns);
    check_softmax<true>(3, columns);
  }
}

TEST_CASE("softmax in bf16 is computed in f32") {
  const std::vector<bf16> x{bf16(1.0f), bf16(2.0f), bf16(3.0f)};
  std::vector<bf16> y(3);
  ops::cuda::softmax_kernels.forward({DType::bf16, false, 1, 3, x.data(), y.data()});
  CHECK(static_cast<float>(y[2]) == static_cast<float>(bf16(0.66524096f)));
}

TEST_CASE("columns are summed in the order of their rows") {
  std::vector<float> x(5 * 300), sums(300);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  ops::cuda::column_sums({DType::f32, 5, 300, x.data(), sums.data()});
  for (std::size_t j = 0; j < 300; ++j) {
    CHECK(sums[j] == x[j] + x[300 + j] + x[600 + j] + x[900 + j] + x[1200 + j]);
  }
}

TEST_CASE("strided copies convert and broadcast") {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  std::vector<double> y(12);
  const Shape shape{2, 3, 2};
  cuda::run_copy(y.data(), x.data(), merged_axes<2>(shape, {Strides{6, 2, 1}, Strides{0, 1, 3}}));
  CHECK(y == std::vector<double>{1, 4, 2, 5, 3, 6, 1, 4, 2, 5, 3, 6});
  cuda::run_add(y.data(), x.data(), merged_axes<2>({6}, {Strides{2}, Strides{1}}));
  CHECK(y == std::vector<double>{2, 4, 4, 5, 6, 6, 5, 4, 7, 5, 9, 6});
}

TEST_CASE("sums over axes run in order, and finiteness is seen") {
  std::vector<double> x(30);
  std::iota(x.begin(), x.end(), 0);
  std::vector<double> y(3);
  cuda::run_sum(y.data(), x.data(), merged_axes<1>({3}, {Strides{5}}),
                merged_axes<1>({2, 5}, {Strides{15, 1}}));
  CHECK(y == std::vector<double>{95, 145, 195});
  std::uint8_t finite = 1;
  cuda::run_finite(&finite, x.data(), merged_axes<1>({30}, {Strides{1}}));
  CHECK(finite == 1);
  x[29] = NAN;
  cuda::run_finite(&finite, x.data(), merged_axes<1>({30}, {Strides{1}}));
  CHECK(finite == 0);
}

TEST_CASE("the emulator runs threads, blocks, shared memory and barriers") {
  std::vector<int> out(40);
  cuda::launch(reversing_kernel, 1, 40, 40 * sizeof(int), out.data());
  for (int i = 0; i < 40; ++i) CHECK(out[static_cast<std::size_t>(i)] == 39 - i);
}

TEST_CASE("a barrier that some threads never reach is an error") {
  CHECK_THROWS_WITH_AS(cuda::launch(diverging_kernel, 1, 8, 0),
                       "divergence: 7 threads wait at __syncthreads, 0 in a warp shuffle, 1 have "
                       "ended",
                       std::runtime_error);
}

TEST_CASE("a race gives different results in the two orders") {
  double forward = 0, backward = 0;
  cuda::launch(racing_kernel, 1, 8, 0, &forward);
  Machine::instance().order = Order::backward;
  cuda::launch(racing_kernel, 1, 8, 0, &backward);
  Machine::instance().order = Order::forward;
  CHECK(forward != backward);
}
