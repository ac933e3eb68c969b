// Times self_attention for bench/attention_bench.py and attention_gpu.py, which drive it through
// stdin to alternate with the peer. The answer to a line "B H N D bias train reps" (bias 0 none, 1
// constant, 2 trained) is the milliseconds of each repetition.
// Usage: attention_bench [threads] [f32 | bf16] [device]
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>

#include "engine/autograd.h"
#include "engine/cpu_isa.h"
#include "engine/cuda/runtime.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "ops/attention.h"

namespace {

using namespace fovea;

struct Workload {
  std::int64_t batch, heads, tokens, width;
  int bias, train, reps;
};

struct Inputs {
  Tensor qkv, bias, dy;
};

Inputs make_inputs(const Workload& w, TensorOptions options) {
  const auto draw = [&](const Shape& shape, std::uint64_t stream) {
    return rand_normal(shape, {0, 1}, {stream}).to(options.device);
  };
  Inputs in{draw({w.batch, w.tokens, 3 * w.heads * w.width}, 1).to(options.dtype),
            {},
            draw({w.batch, w.tokens, w.heads * w.width}, 2).to(options.dtype)};
  if (w.bias > 0) in.bias = draw({1, w.heads, w.tokens, w.tokens}, 3);
  if (w.bias > 1) in.bias.set_requires_grad();
  in.qkv.set_requires_grad();
  return in;
}

void run(const Workload& w, const Inputs& in) {
  if (w.train == 0) {
    const NoGrad no_grad;
    (void)ops::self_attention(in.qkv, w.heads, in.bias);
    return;
  }
  in.qkv.set_grad({});
  if (in.bias.defined()) in.bias.set_grad({});
  backward(ops::self_attention(in.qkv, w.heads, in.bias), in.dy);
}

void step(const Workload& w, const Inputs& in) {
  run(w, in);
  const Device device = in.qkv.device();
  if (!device.is_cpu()) cuda::synchronize(device.index);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::stoi(argv[1]));
  const TensorOptions options{parse_dtype(argc > 2 ? argv[2] : "f32"),
                              parse_device(argc > 3 ? argv[3] : "cpu")};
  std::cout << "isa " << to_string(cpu_isa()) << " threads " << num_threads() << std::endl;
  Inputs in;
  std::string line, before;
  while (std::getline(std::cin, line)) {
    Workload w{};
    std::istringstream(line) >> w.batch >> w.heads >> w.tokens >> w.width >> w.bias >> w.train >>
        w.reps;
    if (line != before) in = make_inputs(w, options);
    if (line != before) step(w, in);
    before = line;
    for (int i = 0; i < w.reps; ++i) {
      const auto start = std::chrono::steady_clock::now();
      step(w, in);
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - start;
      std::cout << time.count() << (i + 1 < w.reps ? ' ' : '\n');
    }
    std::cout.flush();
  }
}
