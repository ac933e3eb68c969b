// Errors that the emulator and the fake device detect: each kernel here has one bug, and a correct
// twin.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "engine/cuda/launch.cuh"
#include "engine/cuda/runtime.h"
#include "engine/cuda/tensor_core.cuh"
#include "engine/dtype.h"
#include "engine/random.h"
#include "engine/tensor.h"
#include "tests/cuda/fake/queues.h"

using namespace fovea;
using namespace fovea::cuda;
using emulate::Machine;
using fake::Queues;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};

template <class T>
T* data_of(const Tensor& x) {
  return reinterpret_cast<T*>(x.raw());
}

/// Runs under a seed until the device is idle. Returns the error, or "".
template <class... Params, class... Args>
std::string found(std::uint64_t seed, void (*kernel)(Params...), dim3 grid, dim3 block,
                  std::size_t shared_bytes, Args... args) {
  fake::Queues::instance().set_seed(seed);
  set_device(0);
  try {
    launch(current_stream(), kernel, grid, block, shared_bytes, args...);
    synchronize(0);
  } catch (const Error& error) {
    const std::vector<std::string> findings = Queues::instance().take_findings();
    REQUIRE(findings.size() == 1);
    return findings[0];
  }
  return "";
}

/// The errors under every seed; they may differ, because the order of threads does.
template <class... Args>
void check_found(const std::string& part, Args... args) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::string finding = found(seed, args...);
    CAPTURE(finding);
    CHECK(finding.find(part) != std::string::npos);
  }
}
template <class... Args>
void check_clean(Args... args) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(found(seed, args...) == "");
}

Tensor numbers(std::int64_t count) { return arange(count, {DType::f32, kCuda}); }

template <bool Waits>
__global__ void reverse(float* out, const float* in) {
  float* const box = dynamic_shared<float>();
  box[threadIdx.x] = in[threadIdx.x];
  if (Waits) __syncthreads();
  out[threadIdx.x] = box[blockDim.x - 1 - threadIdx.x];
}

/// The first lane of each pair writes, both meet in a shuffle, then the other lane reads.
template <bool Waits>
__global__ void shuffle_is_no_barrier(float* out) {
  float* const box = dynamic_shared<float>();
  box[threadIdx.x] = static_cast<float>(threadIdx.x);
  const float other = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  if (Waits) __syncwarp();
  out[threadIdx.x] = box[threadIdx.x ^ 1u] + other;
}

/// __syncwarp in all warps, then a read of another warp's write.
__global__ void warps_are_not_ordered(float* out) {
  float* const box = dynamic_shared<float>();
  box[threadIdx.x] = 1;
  __syncwarp();
  out[threadIdx.x] = box[threadIdx.x ^ 32u];
}

/// Lanes 0 to 15 meet; lane 16 is not one of them.
__global__ void half_a_warp_meets(float* out, unsigned reader) {
  float* const box = dynamic_shared<float>();
  if (threadIdx.x == 0) box[0] = 1;
  if (threadIdx.x < 16) __syncwarp(0xffffu);
  if (threadIdx.x == reader) out[0] = box[0];
}

/// A second iteration overwrites values that readers of the first may still need.
template <bool Waits>
__global__ void two_turns(float* out) {
  float* const box = dynamic_shared<float>();
  float sum = 0;
  for (int turn = 0; turn < 2; ++turn) {
    if (threadIdx.x == 0) box[0] = static_cast<float>(turn);
    __syncthreads();
    sum += box[0];
    if (Waits) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

__global__ void every_block_writes(float* out) { out[threadIdx.x] = 1; }
__global__ void reads_its_neighbour(float* x) {
  x[blockIdx.x] = x[(blockIdx.x + 1) % gridDim.x] + 1;
}
__global__ void copies(float* out, const float* in) { out[grid_thread()] = in[grid_thread()]; }
__global__ void copies_if(float* out, const float* in, int count) {
  if (grid_thread() < count) out[grid_thread()] = in[grid_thread()];
}
__global__ void copies_four(float* out, const float* in, int offset) {
  const unsigned at = 4 * threadIdx.x + static_cast<unsigned>(offset);
  store_pack(out + at, load_pack(in + at));
}

__global__ void some_leave() {
  if (threadIdx.x == 3) return;
  __syncthreads();
}
__global__ void some_take_another_way(float* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}
__global__ void leaves_itself_out(float* out) {
  out[threadIdx.x] = __shfl_sync(0xfffffffeu, 1.0f, 1);
}
__global__ void asks_an_outsider(float* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffffu, 1.0f, 20);
}

__global__ void counts_up(unsigned* count) { atomicAdd(count, 1u); }
__global__ void counts_and_reads(unsigned* count, unsigned* out) {
  atomicAdd(count, 1u);
  if (threadIdx.x == 0) *out = *count;
}

struct Tag;
__global__ void uses_static_shared(float* out) {
  float* const a = static_shared<float, 64, Tag>();
  double* const b = static_shared<double, 64, Tag>();
  a[threadIdx.x] = static_cast<float>(threadIdx.x);
  b[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = a[63 - threadIdx.x] + static_cast<float>(b[63 - threadIdx.x]);
}
__global__ void too_much_static_shared(float* out) {
  out[threadIdx.x] = static_shared<float, 20000, Tag>()[0];
}

__global__ void by_columns(float* out, unsigned width) {
  float* const box = dynamic_shared<float>();
  box[threadIdx.x * width] = 1;
  __syncthreads();
  out[threadIdx.x] = box[threadIdx.x * width];
}

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

TEST_CASE("a barrier that is left out is found between any two threads") {
  const Tensor in = numbers(100), out = empty({100}, {DType::f32, kCuda});
  check_clean(reverse<true>, 1, 100, 400, data_of<float>(out), data_of<float>(in));
  CHECK(out.at(0) == 99);
  check_found("shared memory, ", reverse<false>, 1, 100, 400, data_of<float>(out),
              data_of<float>(in));
  check_clean(two_turns<true>, 1, 64, 4, data_of<float>(out));
  check_found("no barrier lies between this and its reading by thread", two_turns<false>, 1, 64, 4,
              data_of<float>(out));
}

TEST_CASE("a shuffle orders nothing, __syncwarp the lanes of its mask") {
  const Tensor out = empty({64}, {DType::f32, kCuda});
  check_clean(shuffle_is_no_barrier<true>, 1, 64, 256, data_of<float>(out));
  check_found("shared memory, ", shuffle_is_no_barrier<false>, 1, 64, 256, data_of<float>(out));
  check_found("shared memory, ", warps_are_not_ordered, 1, 64, 256, data_of<float>(out));
  check_clean(half_a_warp_meets, 1, 32, 4, data_of<float>(out), 15u);
  check_found("shared memory, ", half_a_warp_meets, 1, 32, 4, data_of<float>(out), 16u);
}

TEST_CASE("nothing orders the blocks of a launch") {
  const Tensor out = numbers(32);
  check_clean(every_block_writes, 1, 32, 0, data_of<float>(out));
  check_found("of block (", every_block_writes, 2, 32, 0, data_of<float>(out));
  check_found("no barrier lies between", reads_its_neighbour, 4, 1, 0, data_of<float>(out));
}

TEST_CASE("bytes that nobody wrote, of no allocation, freed, or of the host are not touched") {
  const Tensor in = numbers(64), out = empty({64}, {DType::f32, kCuda});
  release_cached_memory(kCuda);  // a cached block would hold what was there before
  const Tensor fresh = empty({1000}, {DType::f32, kCuda});
  check_found("which nobody has written", copies, 1, 64, 0, data_of<float>(out),
              data_of<float>(fresh));
  check_clean(copies, 1, 64, 0, data_of<float>(out), data_of<float>(in));
  check_found("out of bounds", copies, 1, 65, 0, data_of<float>(out), data_of<float>(in));
  check_clean(copies_if, 1, 128, 0, data_of<float>(out), data_of<float>(in), 64);
  std::vector<float> host(64);
  check_found("of the host's memory", copies, 1, 64, 0, host.data(), data_of<float>(in));
  void* freed = nullptr;
  REQUIRE(cudaMalloc(&freed, 256) == cudaSuccess);
  REQUIRE(cudaFree(freed) == cudaSuccess);
  check_found("was freed", copies, 1, 64, 0, static_cast<float*>(freed), data_of<float>(in));
}

TEST_CASE("an access is aligned to its size") {
  const Tensor in = numbers(64), out = empty({64}, {DType::f32, kCuda});
  check_clean(copies_four, 1, 16, 0, data_of<float>(out), data_of<float>(in), 0);
  check_found("not aligned", copies_four, 1, 8, 0, data_of<float>(out), data_of<float>(in), 2);
}

TEST_CASE("threads that never meet are found") {
  const Tensor out = empty({32}, {DType::f32, kCuda});
  check_found("7 at __syncthreads, 0 for lanes of their warp, and 1 have ended", some_leave, 1, 8,
              0);
  check_found("which has ended", some_take_another_way, 1, 32, 0, data_of<float>(out));
  check_found("with a mask that leaves it out", leaves_itself_out, 1, 32, 0, data_of<float>(out));
  check_found("which takes no part", asks_an_outsider, 1, 32, 0, data_of<float>(out));
  check_found("which is not there", shuffle_is_no_barrier<true>, 1, 8, 256, data_of<float>(out));
}

TEST_CASE("atomic updates meet each other, and nothing else") {
  const Tensor count = zeros({4}, {DType::f32, kCuda});
  check_clean(counts_up, 4, 64, 0, data_of<unsigned>(count));
  check_found("no barrier lies between", counts_and_reads, 1, 64, 0, data_of<unsigned>(count),
              data_of<unsigned>(count) + 1);
}

TEST_CASE("shared memory is limited, and more than 48 KB is asked for") {
  const Tensor out = empty({64}, {DType::f32, kCuda});
  check_clean(uses_static_shared, 2 - 1, 64, 0, data_of<float>(out));
  CHECK(out.at(5) == 59);
  check_found("bytes of shared memory, at most", too_much_static_shared, 1, 1, 0,
              data_of<float>(out));
  check_clean(by_columns, 1, 64, std::size_t{100} << 10, data_of<float>(out), 33u);
  CHECK_THROWS_WITH_AS(
      launch(current_stream(), by_columns, 1, 64, std::size_t{200} << 10, data_of<float>(out), 1u),
      ": its kernel needs 204800 bytes of shared memory per block, this device has "
      "166912",
      Error);
  CHECK_THROWS_AS(launch(current_stream(), by_columns, 1, 1025, 0, data_of<float>(out), 1u), Error);
  CHECK_THROWS_AS(
      launch(current_stream(), by_columns, dim3(1, 65536), 1, 0, data_of<float>(out), 1u), Error);
}

TEST_CASE("bank conflicts and sectors are counted") {
  const Tensor in = numbers(256), out = empty({256}, {DType::f32, kCuda});
  Machine& machine = Machine::instance();
  machine.counts = true;
  check_clean(by_columns, 1, 32, 4096 + 128, data_of<float>(out), 33u);
  CHECK(machine.counters().conflicts_a_request() == 0);
  check_clean(by_columns, 1, 32, 4096, data_of<float>(out), 32u);
  CHECK(machine.counters().conflicts_a_request() == 31);
  check_clean(by_columns, 1, 32, 4096, data_of<float>(out), 2u);
  CHECK(machine.counters().conflicts_a_request() == 1);
  check_clean(copies, 1, 64, 0, data_of<float>(out), data_of<float>(in));
  CHECK(machine.counters().sectors == 2 * 64 * 4 / 32);
  CHECK(machine.counters().vector_share() == 0);
  check_clean(copies_four, 1, 32, 0, data_of<float>(out), data_of<float>(in), 0);
  CHECK(machine.counters().vector_share() == 1);
  machine.counts = false;
}

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
  machine.counts = false;
  CHECK(machine.counters().mma == 3);
}
