// GFLOP/s of the GEMM on the layer shapes of vision transformers: forward (x w^T + b), the
// gradients of x (dy w) and of w (dy^T x), and a batch of small GEMMs. The gradient of w is f32
// always, the others have the precision of their operands. Usage: gemm_bench [threads]
// [repetitions] [f32 | bf16]
//
// `gemm_bench THREADS serve` answers bench/gemm_bench.py, which alternates with peers, line by
// line:
//   forward|dx|dw ROWS IN OUT f32|bf16 none|gelu   runs the product once: milliseconds. A line that
//                                                  differs from the one before also runs it before.
//   save FOLDER                                    writes its operands a and b, bias (of forward)
//                                                  and result c as raw files: "saved"
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/cpu_isa.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "engine/tensor.h"
#include "ops/gemm/call.h"
#include "ops/kernels.h"

namespace {

using fovea::DType;
using fovea::Tensor;
using fovea::ops::GemmCall;

struct Size {
  std::int64_t m, n, k, batch = 1;
};

struct GemmLayout {
  bool a_transposed, b_transposed;
  DType operands, result;
};

struct Product {
  Size size;
  Tensor a, b, bias, c;
  GemmCall call;

  void run() const { fovea::ops::kernels({}).gemm.multiply(call); }
};

Product make_product(const Size& s, GemmLayout layout) {
  Product p{s,
            fovea::rand_uniform({s.batch, s.m, s.k}, {-1, 1}, {1}).to(layout.operands),
            fovea::rand_uniform({s.batch, s.k, s.n}, {-1, 1}, {2}).to(layout.operands),
            {},
            fovea::empty({s.batch, s.m, s.n}, {layout.result}),
            {}};
  p.call.m = s.m;
  p.call.n = s.n;
  p.call.k = s.k;
  p.call.batch[0] = s.batch;
  p.call.a = {p.a.raw(), layout.operands, s.k, 1, {s.m * s.k}};
  if (layout.a_transposed) p.call.a.row = 1, p.call.a.col = s.m;
  p.call.b = {p.b.raw(), layout.operands, s.n, 1, {s.k * s.n}};
  if (layout.b_transposed) p.call.b.row = 1, p.call.b.col = s.k;
  p.call.c = {p.c.raw(), layout.result, s.n, {s.m * s.n}};
  return p;
}

/// One of the three products of a linear layer: `kind` is forward, dx or dw.
Product layer_product(const std::string& kind, std::int64_t rows, std::int64_t in, std::int64_t out,
                      DType dtype) {
  if (kind == "dx") return make_product({rows, in, out}, {false, false, dtype, dtype});
  if (kind == "dw") return make_product({out, in, rows}, {true, false, dtype, DType::f32});
  fovea::check(kind == "forward", "unknown kind ", kind, ", expected forward, dx or dw");
  Product p = make_product({rows, out, in}, {false, true, dtype, dtype});
  p.bias = fovea::rand_uniform({out}, {-1, 1}, {3});
  p.call.bias_kind = fovea::ops::GemmBias::per_column;
  p.call.bias = p.bias.raw();
  return p;
}

double seconds_of(const Product& product) {
  const auto start = std::chrono::steady_clock::now();
  product.run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return seconds.count();
}

/// Of the fastest of `repetitions` runs.
double gflops(const Product& product, int repetitions) {
  double best = 1e30;
  product.run();
  for (int i = 0; i < repetitions; ++i) best = std::min(best, seconds_of(product));
  const Size& s = product.size;
  return 2e-9 * static_cast<double>(s.batch * s.m * s.n * s.k) / best;
}

void print(const std::string& what, const Product& product, int repetitions) {
  const Size& s = product.size;
  std::cout << std::left << std::setw(8) << what << std::right << std::setw(6) << s.batch
            << std::setw(7) << s.m << std::setw(6) << s.n << std::setw(7) << s.k << std::fixed
            << std::setprecision(0) << std::setw(9) << gflops(product, repetitions) << std::endl;
}

void print_table(int repetitions, DType dtype) {
  std::cout << "what     batch      m     n      k  GFLOP/s\n";
  for (const std::int64_t rows : {8320, 6304}) {
    for (const auto& [in, out] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {192, 576}, {192, 192}, {192, 768}, {768, 192}}) {
      for (const char* kind : {"forward", "dx", "dw"}) {
        print(kind, layer_product(kind, rows, in, out, dtype), repetitions);
      }
    }
  }
  for (const Size& s : {Size{196, 196, 64, 96}, Size{65, 65, 64, 384}, Size{128, 1000, 192},
                        Size{64, 64, 64}, Size{2048, 2048, 2048}}) {
    print("product", make_product(s, {false, false, dtype, dtype}), repetitions);
  }
}

void write_raw(const std::filesystem::path& path, const Tensor& x) {
  if (!x.defined()) return;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(x.raw()), x.byte_count());
  fovea::check(file.flush().good(), path.string(), " cannot be written");
}

void save(const Product& product, const std::filesystem::path& folder) {
  write_raw(folder / "a", product.a);
  write_raw(folder / "b", product.b);
  write_raw(folder / "bias", product.bias);
  write_raw(folder / "c", product.c);
}

Product product_of(const std::string& line) {
  std::string kind, dtype, activation;
  std::int64_t rows = 0, in = 0, out = 0;
  std::istringstream(line) >> kind >> rows >> in >> out >> dtype >> activation;
  Product product = layer_product(kind, rows, in, out, fovea::parse_dtype(dtype));
  if (activation == "gelu") product.call.activation = fovea::ops::GemmActivation::gelu;
  return product;
}

void serve() {
  Product product;
  std::string line, before;
  while (std::getline(std::cin, line)) {
    if (line.rfind("save ", 0) == 0) {
      save(product, line.substr(5));
      std::cout << "saved" << std::endl;
      continue;
    }
    if (line != before) {
      product = product_of(line);
      product.run();
    }
    before = line;
    std::cout << 1e3 * seconds_of(product) << std::endl;
  }
}

void run(const std::vector<std::string>& args) {
  if (!args.empty()) fovea::set_num_threads(std::stoi(args[0]));
  std::cout << "isa " << to_string(fovea::cpu_isa()) << ", " << fovea::num_threads() << " threads"
            << std::endl;
  if (args.size() > 1 && args[1] == "serve") return serve();
  print_table(args.size() > 1 ? std::stoi(args[1]) : 7,
              fovea::parse_dtype(args.size() > 2 ? args[2] : "f32"));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  }
}
