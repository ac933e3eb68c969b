// GFLOP/s of the GEMM on the layer shapes of vision transformers: forward (x w^T + b), the
// gradients of x (dy w) and of w (dy^T x), and a batch of small GEMMs. The gradient of w is f32
// always, the others have the precision of their operands. Usage: gemm_bench [threads]
// [repetitions] [f32 | bf16]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "engine/cpu_isa.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "engine/tensor.h"
#include "ops/gemm/call.h"
#include "ops/kernels.h"

namespace {

using fovea::Tensor;
using fovea::ops::GemmCall;

struct Size {
  std::int64_t m, n, k, batch = 1;
};

/// Time in seconds of the fastest of `repetitions` runs.
double fastest(int repetitions, const std::function<void()>& run) {
  double best = 1e30;
  run();
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  return best;
}

struct GemmLayout {
  bool a_transposed, b_transposed;
  fovea::DType operands, result;
};

double gflops(const Size& s, GemmLayout layout, int repetitions) {
  const Tensor a = fovea::rand_uniform({s.batch, s.m, s.k}, {-1, 1}, {1}).to(layout.operands);
  const Tensor b = fovea::rand_uniform({s.batch, s.k, s.n}, {-1, 1}, {2}).to(layout.operands);
  const Tensor c = fovea::empty({s.batch, s.m, s.n}, {layout.result});
  GemmCall call;
  call.m = s.m;
  call.n = s.n;
  call.k = s.k;
  call.batch[0] = s.batch;
  call.a = {a.raw(), layout.operands, s.k, 1, {s.m * s.k}};
  if (layout.a_transposed) call.a.row = 1, call.a.col = s.m;
  call.b = {b.raw(), layout.operands, s.n, 1, {s.k * s.n}};
  if (layout.b_transposed) call.b.row = 1, call.b.col = s.k;
  call.c = {c.raw(), layout.result, s.n, {s.m * s.n}};
  const double flops = 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k);
  return flops / fastest(repetitions, [&] { fovea::ops::kernels({}).gemm.multiply(call); }) * 1e-9;
}

void print(const std::string& what, const Size& s, double rate) {
  std::cout << std::left << std::setw(8) << what << std::right << std::setw(6) << s.batch
            << std::setw(7) << s.m << std::setw(6) << s.n << std::setw(7) << s.k << std::fixed
            << std::setprecision(0) << std::setw(9) << rate << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) fovea::set_num_threads(std::atoi(argv[1]));
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 7;
  const fovea::DType dtype = fovea::parse_dtype(argc > 3 ? argv[3] : "f32");
  std::cout << "isa " << to_string(fovea::cpu_isa()) << ", " << fovea::num_threads()
            << " threads\nwhat     batch      m     n      k  GFLOP/s\n";
  for (const std::int64_t rows : {8320, 6304}) {
    for (const auto& [in, out] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {192, 576}, {192, 192}, {192, 768}, {768, 192}}) {
      const Size forward{rows, out, in}, dx{rows, in, out}, dw{out, in, rows};
      print("forward", forward, gflops(forward, {false, true, dtype, dtype}, repetitions));
      print("dx", dx, gflops(dx, {false, false, dtype, dtype}, repetitions));
      print("dw", dw, gflops(dw, {true, false, dtype, fovea::DType::f32}, repetitions));
    }
  }
  for (const Size& s : {Size{196, 196, 64, 96}, Size{65, 65, 64, 384}, Size{128, 1000, 192},
                        Size{64, 64, 64}, Size{2048, 2048, 2048}}) {
    print("product", s, gflops(s, {false, false, dtype, dtype}, repetitions));
  }
}
