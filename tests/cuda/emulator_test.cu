// Errors that the emulator and the fake device detect: each kernel here has one bug, and a correct
// twin.
#include <doctest/doctest.h>

#include <vector>

#include "engine/cuda/launch.cuh"
#include "engine/tensor.h"
#include "tests/cuda/kernel_runs.h"

using namespace fovea;
using namespace fovea::cuda;
using namespace fovea::tests;
using emulate::Machine;

namespace {

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
__global__ void every_block_copies(float* out, const float* in) {
  out[grid_thread()] = in[threadIdx.x];
}
/// The compiler keeps it apart, since both kernels call it.
bf16 halved(float x, int times) {
  while (times-- > 0) x /= 2;
  return bf16(x);
}
__global__ void halves(bf16* out, float x) { out[threadIdx.x] = halved(x, 1); }
__global__ void quarters(bf16* out, float x) { out[threadIdx.x] = halved(x, 2); }
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
struct TooLarge {
  char bytes[std::size_t{32} << 10];
};
__global__ void takes_too_much(TooLarge) {}

__global__ void too_much_static_shared(float* out) {
  out[threadIdx.x] = static_shared<float, 20000, Tag>()[0];
}

__global__ void by_columns(float* out, unsigned width) {
  float* const box = dynamic_shared<float>();
  box[threadIdx.x * width] = 1;
  __syncthreads();
  out[threadIdx.x] = box[threadIdx.x * width];
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

TEST_CASE("a structure that a function returns into memory is looked at") {
  const Tensor out = empty({128}, {DType::bf16, kCuda});
  check_clean(halves, 1, 128, 0, data_of<bf16>(out), 8.0f);
  CHECK(out.at(127) == 4);
  check_clean(quarters, 1, 128, 0, data_of<bf16>(out), 8.0f);
  CHECK(out.at(127) == 2);
  check_found("writes 2 bytes 0 bytes behind", halves, 1, 129, 0, data_of<bf16>(out), 8.0f);
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

TEST_CASE("parameters are limited") {
  check_found("32768 bytes of parameters, at most 32764 are possible", takes_too_much, 1, 1, 0,
              TooLarge{});
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
  CHECK(machine.counters().distinct_sectors == machine.counters().sectors);
  check_clean(every_block_copies, 2, 32, 0, data_of<float>(out), data_of<float>(in));
  CHECK(machine.counters().sectors == (2 + 2) * 32 * 4 / 32);
  CHECK(machine.counters().distinct_sectors == (1 + 2) * 32 * 4 / 32);
  check_clean(copies_four, 1, 32, 0, data_of<float>(out), data_of<float>(in), 0);
  CHECK(machine.counters().vector_share() == 1);
  machine.counts = false;
}
