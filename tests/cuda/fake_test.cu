// The fake device: streams in any order that events allow, CUDA's copies, graphs, cuBLASLt's rules;
// and the runtime of engine/cuda on it.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/copy.h"
#include "engine/cuda/launch.cuh"
#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "engine/tensor.h"
#include "ops/arithmetic.h"
#include "ops/dropout.h"
#include "ops/gemm/cuda_lt.h"
#include "ops/matmul.h"
#include "ops/update.h"
#include "ops/view.h"
#include "tests/cuda/fake/queues.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using namespace fovea::cuda;
using fake::Queues;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};
constexpr int kSeeds = 20;
[[maybe_unused]] const int two_devices =
    setenv("FOVEA_FAKE_DEVICES", "2", 0);  // before the first call

__global__ void doubles(float* x) { x[threadIdx.x] *= 2; }
__global__ void takes(float* to, const float* from) { to[threadIdx.x] = from[threadIdx.x]; }

float* data_of(const Tensor& x) { return reinterpret_cast<float*>(x.raw()); }
cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle()); }

/// Memory from a fresh block: a cached block would contain earlier values.
Tensor unwritten(std::int64_t count) {
  release_cached_memory(kCuda);
  return empty({count}, {DType::f32, kCuda});
}

/// The first error detected while `act` and all its work runs; "" if there is none.
std::string found(const std::function<void()>& act) {
  try {
    act();
    synchronize(0);
  } catch (const Error&) {
  }
  const std::vector<std::string> findings = Queues::instance().take_findings();
  return findings.empty() ? "" : findings[0];
}

/// The results of a program under many orders of streams, blocks and threads.
std::set<double> results(const std::function<double()>& program) {
  std::set<double> all;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    fake::Queues::instance().set_seed(seed);
    all.insert(program());
    CHECK(Queues::instance().take_findings().empty());
  }
  return all;
}

/// x becomes 2 on the upload stream and is read on the compute stream, with or without an event.
double across_streams(bool waits) {
  set_device(0);
  const Tensor x = ones({1}, {DType::f32, kCuda}), y = zeros({1}, {DType::f32, kCuda});
  synchronize(0);
  const Stream upload = Stream::upload(0), compute = Stream::compute(0);
  launch(native(upload), doubles, 1, 1, 0, data_of(x));
  if (waits) compute.wait_for(upload);
  launch(native(compute), takes, 1, 1, 0, data_of(y), data_of(x));
  const double result = y.item();
  synchronize(0);
  return result;
}

/// The first error of a [4, 4] f32 GEMM as lt_product() makes it, modified by `change`.
std::string lt_finding(
    const std::function<void(ops::cuda::LtProduct&, ops::cuda::LtPointers&)>& change) {
  set_device(0);
  const Tensor a = ones({8, 8}, {DType::f32, kCuda}), b = ones({8, 8}, {DType::f32, kCuda});
  const Tensor d = zeros({8, 8}, {DType::f32, kCuda});
  synchronize(0);
  ops::cuda::LtProduct product;
  product.a = product.b = product.d = {DType::f32, 4, 4, 8, 0, 16};
  ops::cuda::LtPointers at{a.raw(), b.raw(), nullptr, d.raw(), nullptr};
  change(product, at);
  return found([&] { ops::cuda::lt_product(product, 1, at); });
}

}  // namespace

TEST_CASE("streams run in any order, and an event orders them") {
  CHECK(results([] { return across_streams(false); }) == std::set<double>{1, 2});
  CHECK(results([] { return across_streams(true); }) == std::set<double>{2});
}

TEST_CASE("pinned memory is read when the stream comes to it, pageable memory at the call") {
  for (const bool is_pinned : {true, false}) {
    const std::set<double> seen = results([&] {
      set_device(0);
      float pageable = 1;
      void* pinned = nullptr;
      REQUIRE(cudaHostAlloc(&pinned, sizeof(float), cudaHostAllocPortable) == cudaSuccess);
      auto* const source = is_pinned ? static_cast<float*>(pinned) : &pageable;
      const Tensor x = empty({1}, {DType::f32, kCuda});
      *source = 1;
      REQUIRE(cudaMemcpyAsync(x.raw(), source, sizeof(float), cudaMemcpyHostToDevice,
                              current_stream()) == cudaSuccess);
      *source = 2;
      const double result = x.item();
      REQUIRE(cudaFreeHost(pinned) == cudaSuccess);
      return result;
    });
    CHECK(seen == (is_pinned ? std::set<double>{1, 2} : std::set<double>{1}));
  }
}

TEST_CASE("a copy to the device may be followed at once by a change of its source") {
  CHECK(results([] {
          std::vector<double> host{3};
          const Tensor x = from_values({1}, host);
          const Tensor there = x.to(kCuda);
          x.fill_(4);
          return there.item();
        }) == std::set<double>{3});
}

TEST_CASE("memory that another stream uses is handed out again after that") {
  const auto program = [](bool tells) {
    set_device(0);
    release_cached_memory(kCuda);
    const Tensor y = zeros({64}, {DType::f32, kCuda});
    {
      const Tensor x = ones({64}, {DType::f32, kCuda});
      Stream::upload(0).wait_for(Stream::compute(0));
      if (tells) also_used_by(x.raw(), Stream::upload(0));
      launch(native(Stream::upload(0)), takes, 1, 64, 0, data_of(y), data_of(x));
    }
    const Tensor again = full({64}, 5, {DType::f32, kCuda});  // where x was
    Stream::compute(0).wait_for(Stream::upload(0));
    return y.at(7);
  };
  CHECK(results([&] { return program(false); }) == std::set<double>{1, 5});
  CHECK(results([&] { return program(true); }) == std::set<double>{1});
}

TEST_CASE("memory of one stream is not handed out to another") {
  CHECK(results([] {
          set_device(0);
          release_cached_memory(kCuda);
          const Tensor source = full({64}, 5, {DType::f32, kCuda});
          Stream::upload(0).wait_for(Stream::compute(0));
          {
            const StreamScope scope(Stream::upload(0));
            const Tensor x = empty({64}, {DType::f32, kCuda});
            launch(current_stream(), takes, 1, 64, 0, data_of(x), data_of(source));
          }
          const Tensor y = ones({64}, {DType::f32, kCuda});
          synchronize(0);
          return y.at(9);
        }) == std::set<double>{1});
}

TEST_CASE("a tensor goes to another device in the order of both") {
  REQUIRE(device_count() == 2);
  const Device other{DeviceType::cuda, 1};
  double value = 0;  // another each time: memory may hold what was there before
  CHECK(results([&] {
          const Tensor x = full({100}, ++value, {DType::f32, kCuda});
          const Tensor there = ops::mul(x, x).to(other);
          return ops::add(there, there).at(99) / (value * value);
        }) == std::set<double>{2});
}

TEST_CASE(
    "operands that cuBLASLt cannot read are packed, and pointers promised no more than they keep") {
  set_device(0);
  const Tensor row = rand_normal({1, 8}, {0, 1}, {1}), b = rand_normal({8, 5}, {0, 1}, {2});
  const Tensor wide = rand_normal({7, 9}, {0, 1}, {3});
  const auto product = [&](Device device, DType dtype) {
    const auto at = [&](const Tensor& x) { return x.to(dtype).to(device); };
    const Tensor repeated = ops::matmul(ops::expand(at(row), {4, 8}), at(b));
    const Tensor odd = ops::matmul(ops::slice(at(wide), 1, 1, 9), at(b));  // from the second column
    return ops::cat({repeated, odd}, 0).to(Device{}).to_vector();
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const std::vector<double> cpu = product({}, dtype), cuda = product(kCuda, dtype);
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      CHECK(cuda[i] == doctest::Approx(cpu[i]).epsilon(dtype == DType::bf16 ? 2e-2 : 1e-5));
    }
  }
  CHECK(Queues::instance().take_findings().empty());
}

TEST_CASE("TF32 is taken where it is allowed, and f64 and bf16 know nothing of it") {
  const Tensor x = full({4, 4}, 1 + 1.0 / 4096, {DType::f32, kCuda});
  const Tensor eye =
      from_values({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {DType::f32, kCuda});
  const auto first = [&](DType dtype) { return ops::matmul(x.to(dtype), eye.to(dtype)).at(0); };
  CHECK(first(DType::f32) == 1 + 1.0 / 4096);
  ops::allow_tf32(true);
  CHECK(first(DType::f32) == 1);
  CHECK(first(DType::f64) == 1 + 1.0 / 4096);
  CHECK(first(DType::bf16) == 1);
  ops::allow_tf32(false);
  CHECK(first(DType::f32) == 1 + 1.0 / 4096);
}

TEST_CASE("the legacy stream, and those of another device, are refused") {
  const Tensor x = ones({1}, {DType::f32, kCuda});
  set_device(0);
  CHECK(found([&] { launch(nullptr, doubles, 1, 1, 0, data_of(x)); }).find("legacy stream") !=
        std::string::npos);
  float host = 0;
  CHECK(found([&] {
          cudaMemcpyAsync(x.raw(), &host, sizeof host, cudaMemcpyHostToDevice, nullptr);
        }).find("legacy stream") != std::string::npos);
}

TEST_CASE("copies stay inside of allocations, and copy what was written") {
  const Tensor fresh = unwritten(16);
  CHECK(found([&] { static_cast<void>(fresh.to_vector()); }).find("nobody has written") !=
        std::string::npos);
  const Tensor x = ones({16}, {DType::f32, kCuda});
  std::vector<float> host(1000);
  CHECK(found([&] { copy_device_to_host(host.data(), x.raw(), 4000, 0); }).find("out of bounds") !=
        std::string::npos);
}

TEST_CASE("an error of a kernel names the op, or says how to find it") {
  const Tensor fresh = unwritten(16);
  std::string message;
  try {
    static_cast<void>(ops::exp(fresh).to_vector());
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("FOVEA_SYNC=1") != std::string::npos);
  const std::vector<std::string> findings = Queues::instance().take_findings();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].find("nobody has written") != std::string::npos);
}

TEST_CASE("a captured graph replays what was asked for, from a pool of its own") {
  CHECK(results([] {
          set_device(0);
          const Stream stream = Stream::compute(0);
          const PrivatePool pool(0);
          const Tensor x = ones({4}, {DType::f32, kCuda});
          {  // the pool's memory is there before the capture, which may not ask for any
            const PrivatePool::Scope scope(pool);
            static_cast<void>(ops::mul(x, x));
          }
          synchronize(0);
          cudaGraph_t graph = nullptr;
          Tensor y;
          REQUIRE(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeGlobal) ==
                  cudaSuccess);
          {
            const PrivatePool::Scope scope(pool);
            y = ops::mul(x, x);
          }
          Stream::upload(0).wait_for(stream);
          launch(native(Stream::upload(0)), doubles, 1, 4, 0, data_of(x));
          stream.wait_for(Stream::upload(0));
          REQUIRE(cudaStreamEndCapture(native(stream), &graph) == cudaSuccess);
          cudaGraphExec_t executable = nullptr;
          REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
          for (int i = 0; i < 3; ++i) {
            REQUIRE(cudaGraphLaunch(executable, native(stream)) == cudaSuccess);
          }
          const double result = 100 * x.at(1) + y.at(2);
          cudaGraphExecDestroy(executable);
          cudaGraphDestroy(graph);
          return result;
        }) == std::set<double>{816});
}

TEST_CASE("a captured step is repeated with other rates, steps and random numbers") {
  struct Run {
    Device device;
    ops::UpdateTensors weights{ones({40}, on()), full({40}, 0.5, on()), zeros({40}, on()),
                               zeros({40}, on())};
    Tensor x = ones({40}, on()), y{};
    ops::UpdateStep now{device, numbers(0)};
    StepNumber step{0};

    [[nodiscard]] TensorOptions on() const { return {DType::f32, device}; }
    static ops::StepScalars numbers(std::int64_t i) {
      return {.lr = 0.1 * static_cast<double>(i + 1), .step = i + 1, .beta1 = 0.9, .beta2 = 0.99};
    }
    void ask() {
      const ops::Update update{weights, {.now = now, .weight_decay = 0.1}};
      ops::adamw_({&update, 1}, {0.9, 0.99, 1e-8});
      y = ops::dropout(x, 0.5, {7, 1, step});
    }
    void write(std::int64_t i) {
      now.write(numbers(i));
      step.write(static_cast<std::uint64_t>(i));
    }
    [[nodiscard]] double result() const {
      double sum = 1000 * weights.parameter.to(Device{}).at(3);
      for (const double value : y.to_vector()) sum = value + 1.25 * sum;
      return sum;
    }
  };
  Run plain{Device{}};
  double expected = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    plain.write(i);
    plain.ask();
    expected += plain.result();
  }
  CHECK(results([] {
          set_device(0);
          const PrivatePool pool(0);
          const PrivatePool::Scope scope(pool);
          Run run{kCuda};
          run.y = ops::dropout(run.x, 0.5, {7, 1, run.step});  // memory for the capture
          run.y = {};
          synchronize(0);
          const cudaStream_t stream = native(Stream::compute(0));
          cudaGraph_t graph = nullptr;
          cudaGraphExec_t executable = nullptr;
          REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
          run.ask();
          REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
          REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
          double sum = 0;
          for (std::int64_t i = 0; i < 3; ++i) {
            run.write(i);
            REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
            sum += run.result();
          }
          cudaGraphExecDestroy(executable);
          cudaGraphDestroy(graph);
          return sum;
        }) == std::set<double>{expected});
}

TEST_CASE("a capture is spoilt by a call that waits, and by work that is not joined") {
  set_device(0);
  const cudaStream_t stream = native(Stream::compute(0));
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  const Tensor x = ones({1}, {DType::f32, kCuda});
  synchronize(0);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  Stream::upload(0).wait_for(Stream::compute(0));
  launch(native(Stream::upload(0)), doubles, 1, 1, 0, data_of(x));
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnjoined);
  cudaGetLastError();
}

TEST_CASE("cuBLASLt's rules are looked at") {
  using ops::cuda::LtPointers;
  using ops::cuda::LtProduct;
  CHECK(lt_finding([](LtProduct&, LtPointers&) {}) == "");
  const auto finds = [](const char* part, const auto& change) {
    const std::string finding = lt_finding(change);
    CAPTURE(finding);
    CHECK(finding.find(part) != std::string::npos);
  };
  finds("a leading dimension of 3 below 4 rows",
        [](LtProduct& p, LtPointers&) { p.a.leading = 3; });
  finds("shapes that do not fit", [](LtProduct& p, LtPointers&) { p.b.rows = 3; });
  finds("without elements", [](LtProduct& p, LtPointers&) { p.a.columns = p.b.rows = 0; });
  finds("types that no kernel has", [](LtProduct& p, LtPointers&) { p.a.dtype = DType::bf16; });
  finds("results of a batch that overlap", [](LtProduct& p, LtPointers&) {
    p.batch = 2;
    p.d.batch_stride = 8;
  });
  finds("less aligned than the heuristic's",
        [](LtProduct&, LtPointers& at) { at.a = static_cast<const std::byte*>(at.a) + 4; });
  finds("a bias that is missing or not aligned", [](LtProduct& p, LtPointers& at) {
    p.has_bias = true;
    at.bias = static_cast<const std::byte*>(at.b) + 4;
  });
  finds("D lies over an operand", [](LtProduct&, LtPointers& at) { at.a = at.d; });
  finds("is out of bounds", [](LtProduct&, LtPointers& at) {
    at.b = static_cast<const std::byte*>(at.b) + 64 * sizeof(float) - 16;
  });
}

TEST_CASE("memory that is not to be had is said with what was asked and what is held") {
  std::string message;
  OutOfMemory::Bytes bytes;
  try {
    static_cast<void>(empty({std::int64_t{1} << 40}, {DType::u8, kCuda}));
  } catch (const OutOfMemory& error) {
    message = error.what();
    bytes = error.bytes();
  }
  CHECK(message.find("memory: cannot allocate 1099511627776 bytes on cuda:0") == 0);
  CHECK(bytes.asked == std::int64_t{1} << 40);
  CHECK(bytes.total == std::int64_t{8} << 30);
}

TEST_CASE("in a child of fork() CUDA is an error, and the CPU computes") {
  Tensor x = ones({4}, {DType::f32, kCuda});
  also_used_by(x.raw(), Stream::upload(0));
  const pid_t child = fork();
  if (child == 0) {
    int found = 0;
    const auto refuses = [&](const auto& act) {
      found += static_cast<int>(contains(message_of(act), "is a child of fork()"));
    };
    refuses([&] { static_cast<void>(ops::add(x, x)); });
    refuses([&] { static_cast<void>(x.to(Device{})); });
    refuses([] { static_cast<void>(ones({4}, {DType::f32, kCuda})); });
    refuses([] { require_device(kCuda); });
    x = {};  // its memory is the parent's
    found += static_cast<int>(ops::add(ones({4}), ones({4})).data<float>()[3] == 2);
    _exit(found);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 5);
  CHECK(ops::add(x, x).to(Device{}).data<float>()[0] == 2);
}
