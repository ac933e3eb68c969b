// What the emulator has of newer GPUs: asynchronous copies, ex2 and tensor cores.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/cuda/tensor_core.cuh"
#include "engine/dtype.h"
#include "engine/random.h"
#include "tests/cuda/kernel_runs.h"

using namespace fovea;
using namespace fovea::cuda;
using namespace fovea::tests;
using emulate::Machine;

namespace {

enum class Copy { right, no_wait, no_barrier };
template <Copy How>
__global__ void copies_asynchronously(float* out, const float* in) {
  float* const box = dynamic_shared<float>();
  copy_async<16>(box + 4 * threadIdx.x, in + 4 * threadIdx.x, 16);
  commit_copies();
  if (How != Copy::no_wait) wait_copies<0>();
  if (How != Copy::no_barrier) __syncthreads();
  for (unsigned i = threadIdx.x; i < 4 * blockDim.x; i += blockDim.x) out[i] = box[i];
  if (How == Copy::no_wait) wait_copies<0>();
}
__global__ void two_groups_of_copies(float* out, const float* in) {
  float* const box = dynamic_shared<float>();
  for (unsigned group = 0; group < 2; ++group) {
    copy_async<16>(box + 4 * (32 * group + threadIdx.x), in + 4 * (32 * group + threadIdx.x), 16);
    commit_copies();
  }
  wait_copies<1>();  // the first has come, the second need not
  __syncthreads();
  out[threadIdx.x] = box[threadIdx.x];
  wait_copies<0>();
  __syncthreads();
  out[threadIdx.x] += box[128 + threadIdx.x];
}

/// Copies 16 bytes from `offset` elements on, of which `existing` bytes exist.
__global__ void copies_what_exists(float* out, const float* in, int offset, int existing) {
  float* const box = dynamic_shared<float>();
  copy_async<16>(box, in + offset, existing);
  commit_copies();
  wait_copies<0>();
  for (unsigned i = 0; i < 4; ++i) out[i] = box[i];
}

__global__ void exponentiates(float* out, const float* in, unsigned count) {
  if (threadIdx.x < count) out[threadIdx.x] = exponential(in[threadIdx.x]);
}
__global__ void approximates_exp2(float* out, const float* in) {
  out[threadIdx.x] = approximate_exp2(in[threadIdx.x]);
}

/// C [16, 8] = A [16, 16] B [16, 8] in one warp: A by ldmatrix, B, which is row-major, transposed.
__global__ void multiplies_on_tensor_cores(float* c, const std::uint16_t* a,
                                           const std::uint16_t* b) {
  auto* const box = dynamic_shared<std::uint16_t>();
  for (unsigned i = threadIdx.x; i < 256; i += 32) box[i] = a[i];
  for (unsigned i = threadIdx.x; i < 128; i += 32) box[256 + i] = b[i];
  __syncthreads();
  const unsigned lane = threadIdx.x, row = lane % 16, half = lane / 16;
  std::uint32_t left[4], right[4];
  load_matrices(left, box + 16 * row + 8 * half);
  load_matrices_transposed(right, box + 256 + 8 * row);  // of its four matrices two are B
  const std::uint32_t both[2] = {right[0], right[1]};
  float sums[4] = {};
  mma_bf16(sums, left, both);
  for (unsigned i = 0; i < 4; ++i) c[(lane / 4 + 8 * (i / 2)) * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

/// The same for f32 rounded to tf32, A [16, 8], B [8, 8].
__global__ void multiplies_tf32(float* c, const float* a, const float* b) {
  const unsigned group = threadIdx.x / 4, in_group = threadIdx.x % 4;
  std::uint32_t left[4], right[2];
  for (unsigned i = 0; i < 4; ++i) {
    std::memcpy(&left[i], &a[(group + 8 * (i % 2)) * 8 + in_group + 4 * (i / 2)], 4);
  }
  for (unsigned i = 0; i < 2; ++i) std::memcpy(&right[i], &b[(in_group + 4 * i) * 8 + group], 4);
  float sums[4] = {};
  mma_tf32(sums, left, right);
  float* const to = c + 128 * blockIdx.x;
  for (unsigned i = 0; i < 4; ++i) to[(group + 8 * (i / 2)) * 8 + in_group * 2 + i % 2] = sums[i];
}

}  // namespace

TEST_CASE("bytes of an asynchronous copy are counted once, and only those that exist") {
  const Tensor in = numbers(256), out = empty({256}, {DType::f32, kCuda});
  Machine& machine = Machine::instance();
  machine.counts = true;
  check_clean(copies_asynchronously<Copy::right>, 1, 64, 1024, data_of<float>(out),
              data_of<float>(in));
  CHECK(machine.counters().vector_bytes == 1024);
  CHECK(machine.counters().global_bytes == 1024 + 1024);
  check_clean(copies_what_exists, 1, 1, 16, data_of<float>(out), data_of<float>(in), 0, 0);
  CHECK(machine.counters().global_bytes == 16);  // the result
  machine.counts = false;
}

TEST_CASE("an asynchronous copy is there after the wait, and for others after a barrier") {
  const Tensor in = numbers(256), out = empty({256}, {DType::f32, kCuda});
  check_clean(copies_asynchronously<Copy::right>, 1, 64, 1024, data_of<float>(out),
              data_of<float>(in));
  CHECK(out.at(200) == 200);
  check_found("that was not waited for", copies_asynchronously<Copy::no_wait>, 1, 64, 1024,
              data_of<float>(out), data_of<float>(in));
  check_found("shared memory, ", copies_asynchronously<Copy::no_barrier>, 1, 64, 1024,
              data_of<float>(out), data_of<float>(in));
  check_clean(two_groups_of_copies, 1, 32, 1024, data_of<float>(out), data_of<float>(in));
  CHECK(out.at(3) == 3 + 131);
}

TEST_CASE("an asynchronous copy reads the bytes that exist, and makes the others zero") {
  const Tensor in = numbers(64), out = empty({4}, {DType::f32, kCuda});
  check_clean(copies_what_exists, 1, 1, 16, data_of<float>(out), data_of<float>(in), 60, 16);
  CHECK(out.to_vector() == std::vector<double>{60, 61, 62, 63});
  check_clean(copies_what_exists, 1, 1, 16, data_of<float>(out), data_of<float>(in), 64 - 4, 8);
  CHECK(out.to_vector() == std::vector<double>{60, 61, 0, 0});
  check_clean(copies_what_exists, 1, 1, 16, data_of<float>(out), data_of<float>(in), 64, 0);
  CHECK(out.to_vector() == std::vector<double>(4));
  check_found("out of bounds", copies_what_exists, 1, 1, 16, data_of<float>(out),
              data_of<float>(in), 64, 4);
  check_found("not aligned", copies_what_exists, 1, 1, 16, data_of<float>(out), data_of<float>(in),
              2, 8);
  check_found("copies 20 of 16 bytes", copies_what_exists, 1, 1, 16, data_of<float>(out),
              data_of<float>(in), 0, 20);
}

TEST_CASE("ex2 is exact, or two ULP off in both directions by a seed") {
  const Tensor in = rand_uniform({256}, {-20, 0}, {1}).to(kCuda);
  const Tensor out = empty({256}, {DType::f32, kCuda});
  const auto units_off = [&](std::uint64_t rounding) {
    Machine::instance().rounding = rounding;
    check_clean(approximates_exp2, 1, 256, 0, data_of<float>(out), data_of<float>(in));
    Machine::instance().rounding = 0;
    std::vector<double> units;
    for (std::int64_t i = 0; i < 256; ++i) {
      const auto exact = static_cast<float>(std::exp2(in.at(i)));
      const float place = std::nextafter(exact, 2.0f) - exact;
      units.push_back((out.at(i) - static_cast<double>(exact)) / static_cast<double>(place));
    }
    return units;
  };
  CHECK(units_off(0) == std::vector<double>(256));
  const std::vector<double> first = units_off(1), second = units_off(2);
  CHECK(first != second);
  CHECK(std::count_if(first.begin(), first.end(), [](double u) { return u == 2; }) > 80);
  CHECK(std::count_if(first.begin(), first.end(), [](double u) { return u < -0.9; }) > 80);
}

TEST_CASE("tensor cores multiply what ldmatrix has laid out") {
  std::vector<double> a(256), b(128);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i * 7 % 13) - 6;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i * 5 % 11) - 5;
  const Tensor left = from_values({16, 16}, a, {DType::bf16, kCuda});
  const Tensor right = from_values({16, 8}, b, {DType::bf16, kCuda});
  const Tensor out = empty({16, 8}, {DType::f32, kCuda});
  check_clean(multiplies_on_tensor_cores, 1, 32, 1024, data_of<float>(out),
              data_of<std::uint16_t>(left), data_of<std::uint16_t>(right));
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 16; ++k) sum += a[16 * i + k] * b[8 * k + j];
      CHECK(out.at(static_cast<std::int64_t>(8 * i + j)) == sum);
    }
  }
}

TEST_CASE("tf32 products see ten bits behind the point") {
  std::vector<double> a(128), b(64);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1 + static_cast<double>(i) / 4096;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 5) - 2;
  const Tensor left = from_values({16, 8}, a, {DType::f32, kCuda});
  const Tensor right = from_values({8, 8}, b, {DType::f32, kCuda});
  const Tensor out = empty({16, 8}, {DType::f32, kCuda});
  check_clean(multiplies_tf32, 1, 32, 0, data_of<float>(out), data_of<float>(left),
              data_of<float>(right));
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 8; ++k) {
        sum += std::floor(a[8 * i + k] * 1024) / 1024 * b[8 * k + j];
      }
      CHECK(out.at(static_cast<std::int64_t>(8 * i + j)) == doctest::Approx(sum).epsilon(1e-6));
    }
  }
}

TEST_CASE("a GPU before compute capability 8.0 has no asynchronous copies and no TF32") {
  const Tensor in = zeros({256}, {DType::f32, kCuda}), out = empty({256}, {DType::f32, kCuda});
  Machine::instance().compute_capability = 75;
  check_found("no cp.async", copies_what_exists, 1, 1, 16, data_of<float>(out), data_of<float>(in),
              0, 16);
  check_found("no mma.sync", multiplies_tf32, 1, 32, 0, data_of<float>(out), data_of<float>(in),
              data_of<float>(in));
  Machine::instance().compute_capability = 80;
}

TEST_CASE("tensor cores may cut off what lies below the last place of the largest term") {
  std::vector<double> a(128), b(64);  // row 0 of A times column 0 of B: 1 + 7 * 2^-25
  for (std::size_t i = 0; i < 8; ++i) {
    a[i] = i == 0 ? 1 : 0x1p-25;
    b[8 * i] = 1;
  }
  const Tensor left = from_values({16, 8}, a, {DType::f32, kCuda});
  const Tensor right = from_values({8, 8}, b, {DType::f32, kCuda});
  const Tensor out = empty({16, 8}, {DType::f32, kCuda});
  const auto first_sum = [&](std::uint64_t rounding) {
    Machine::instance().rounding = rounding;
    check_clean(multiplies_tf32, 1, 32, 0, data_of<float>(out), data_of<float>(left),
                data_of<float>(right));
    Machine::instance().rounding = 0;
    return out.at(0);
  };
  CHECK(first_sum(0) == 1 + 0x1p-22);
  CHECK(first_sum(1) == 1);
}

TEST_CASE("products of tensor cores are counted once per warp") {
  const Tensor factors = zeros({128}, {DType::f32, kCuda});
  const Tensor out = empty({3, 16, 8}, {DType::f32, kCuda});
  Machine& machine = Machine::instance();
  machine.counts = true;
  check_clean(multiplies_tf32, 3, 32, 0, data_of<float>(out), data_of<float>(factors),
              data_of<float>(factors));
  CHECK(machine.counters().mma == 3);
  CHECK(machine.counters().mma_tf32 == 3);
  check_clean(multiplies_on_tensor_cores, 1, 32, 768, data_of<float>(out),
              data_of<std::uint16_t>(factors), data_of<std::uint16_t>(factors));
  CHECK(machine.counters().mma == 1);
  CHECK(machine.counters().mma_tf32 == 0);
  machine.counts = false;
}

TEST_CASE("exponentials are counted once per thread") {
  const Tensor in = zeros({32}, {DType::f32, kCuda}), out = zeros({32}, in.options());
  const Machine& machine = Machine::instance();
  check_clean(exponentiates, 1, 32, 0, data_of<float>(out), data_of<float>(in), 17u);
  CHECK(machine.counters().exponentials == 17);
  CHECK(out.at(16) == 1);
  check_clean(approximates_exp2, 1, 32, 0, data_of<float>(out), data_of<float>(in));
  CHECK(machine.counters().exponentials == 32);
}
