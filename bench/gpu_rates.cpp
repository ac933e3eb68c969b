// gpu_rates [--json FILE]: what a GPU does per second, alone: copies, products on tensor cores,
// powers of two, launches, also as a graph's nodes, and the products of ViT's layers through
// cuBLASLt.
#include "bench/gpu_rates.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "engine/autograd.h"
#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/cuda/runtime.h"
#include "engine/random.h"
#include "ops/ops.h"

using namespace fovea;
using namespace fovea::bench;
using nlohmann::json;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};

/// Work per measurement: a millisecond or more on a GPU, or next to none.
struct RateSizes {
  std::int64_t copied_bytes = std::int64_t{1} << 30, rows = 256 * 197, width_divisor = 1;
  Repetition repetition{2048, 4096};
  int launches = 1000;
};
constexpr RateSizes kTiny{1 << 12, 8, 96, {2, 1}, 3};

/// Rates by name, printed as they come and stored after each.
class Rates {
 public:
  explicit Rates(std::string file) : file_(std::move(file)) {}

  void add(const std::string& name, double value, const std::string& unit) {
    std::printf("%-28s %10.3g %s\n", name.c_str(), value, unit.c_str());
    std::fflush(stdout);
    rows_.push_back({{"name", name}, {"value", value}, {"unit", unit}});
    if (!file_.empty()) write_file_atomically(file_, json_text(rows_, 1) + "\n");
  }

 private:
  std::string file_;
  json rows_ = json::array();
};

/// The shortest of five runs, after one that does not count.
template <class F>
double seconds_of(const F& work) {
  double best = 1e9;
  for (int i = 0; i < 6; ++i) {
    cuda::synchronize(kCuda.index);
    const auto start = std::chrono::steady_clock::now();
    work();
    cuda::synchronize(kCuda.index);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i > 0) best = std::min(best, took.count());
  }
  return best;
}

void add_machine(Rates& rates, const RateSizes& sizes) {
  const Shape elements{sizes.copied_bytes / 4};
  const Tensor from = zeros(elements, {DType::f32, kCuda}), to = empty(elements, from.options());
  const double copied = 2 * static_cast<double>(sizes.copied_bytes);  // read and written
  rates.add("copy", 1e-12 * copied / seconds_of([&] {
                      run_copy(to.raw(), from.raw(), sizes.copied_bytes);
                    }),
            "TB/s");
  const Repetition how = sizes.repetition;
  const Tensor sums = zeros({std::int64_t{how.blocks} * kRateThreads}, {DType::f32, kCuda});
  auto* const data = reinterpret_cast<float*>(sums.raw());
  const double operations = static_cast<double>(sums.numel()) * how.rounds * kIndependent;
  const auto mma = [&](const char* name, auto run, double depth) {
    const double flop = operations / 32 * 2 * 16 * 8 * depth;  // once per warp
    rates.add(name, 1e-12 * flop / seconds_of([&] { run(data, how); }), "TFLOP/s");
  };
  if (cuda::compute_capability(kCuda.index) >= 80) {
    mma("mma bf16", run_mma_bf16, 16);
    mma("mma TF32", run_mma_tf32, 8);
  } else {
    std::printf("skipped: mma: this GPU has no tensor cores for bf16 and TF32\n");
  }
  rates.add("ex2", 1e-12 * operations / seconds_of([&] { run_exp2(data, how); }), "T/s");
  const auto launches = [&] {
    for (int i = 0; i < sizes.launches; ++i) run_nothing();
  };
  rates.add("launch", 1e6 * seconds_of(launches) / sizes.launches, "us");
  const GraphOfNothing graph(sizes.launches);
  rates.add("node", 1e6 * seconds_of([&] { graph.run(); }) / sizes.launches, "us");
}

/// x w of a layer: qkv, projection, and the MLP's two.
void add_products(Rates& rates, const RateSizes& sizes, const std::string& model,
                  std::int64_t width) {
  struct TimedLayer {
    const char* name;
    std::int64_t from, to;
  };
  constexpr TimedLayer kLayers[] = {{"qkv", 1, 3}, {"proj", 1, 1}, {"fc1", 1, 4}, {"fc2", 4, 1}};
  for (const auto& [layer, from, to] : kLayers) {
    for (const char* const precision : {"f32", "TF32", "bf16"}) {
      const bool tf32 = precision == std::string("TF32");
      const DType dtype = precision == std::string("bf16") ? DType::bf16 : DType::f32;
      const std::int64_t k = from * width / sizes.width_divisor,
                         n = to * width / sizes.width_divisor;
      const Tensor x = rand_normal({sizes.rows, k}, {0, 1}, {1}).to(dtype).to(kCuda);
      const Tensor w = rand_normal({k, n}, {0, 1}, {2}).to(dtype).to(kCuda);
      const NoGrad no_grad;
      ops::allow_tf32(tf32);
      const double seconds = seconds_of([&] { (void)ops::matmul(x, w); });
      ops::allow_tf32(false);
      const double flop = 2.0 * static_cast<double>(sizes.rows * k * n);
      rates.add(model + " " + layer + " " + precision, 1e-12 * flop / seconds, "TFLOP/s");
    }
  }
}

int main_body(int argc, char** argv) {
  std::string file;
  bool tiny = false;
  CommandSpec spec;
  spec.name = "gpu_rates";
  spec.description = "Rates of a GPU: copies, tensor cores, powers of two, launches, products.";
  FieldGroup group(spec.fields, "Rates");
  group.add("json", &file, "write the rates to this file, after each of them");
  group.add("tiny", &tiny, "next to no work: to try the program, not to measure");
  parse_into_fields(argc, argv, spec);
  start_computing(kCuda);
  const RateSizes sizes = tiny ? kTiny : RateSizes{};
  Rates rates(file);
  add_machine(rates, sizes);
  add_products(rates, sizes, "ViT-Ti", 192);
  add_products(rates, sizes, "ViT-S", 384);
  add_products(rates, sizes, "ViT-B", 768);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_app(argc, argv, main_body); }
