// kernel_counts --model NAME [SETTINGS] --json FILE: what a step of a model asks of a GPU, counted
// on the fake device: of each kernel launches, bytes, products on tensor cores and exponentials,
// and each of cuBLASLt's products with its sizes. For bench/gpu_counts.py.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "apps/common/named_model.h"
#include "bench/workload.h"
#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "tests/cuda/emulator/machine.h"
#include "tests/cuda/fake/kernels.h"
#include "tests/cuda/fake/product.h"
#include "train/settings/model_settings.h"

using namespace fovea;
using nlohmann::json;

namespace {

constexpr Device kCuda{DeviceType::cuda, 0};

struct CountOptions {
  std::string model, mode, precision = "f32", file;
  ModelSettings settings;
  std::int64_t batch = 1;
};

Fields fields_of(CountOptions& o) {
  const std::string group = "Counts";
  Fields fields = {
      {"model", group, &o.model, "the model: a name, a run directory or a weights file"},
      {"mode", group, &o.mode, "what a step is (default: train)", -1, -1, {"train", "infer"}},
      {"precision", group, &o.precision, "precision of the model", -1, -1, {"f32", "bf16"}},
      {"batch-size", group, &o.batch, "images per step", 1, 65536},
      {"json", group, &o.file, "the file to write"},
  };
  o.settings.add_fields(fields);
  return fields;
}

bench::WorkloadSpec spec_of(const CountOptions& o) {
  const ModelInfo info = make_named_model(o.model, json_text(o.settings.overrides()), {})->info();
  bench::WorkloadSpec spec{
      info.name, o.mode.empty() ? "train" : o.mode, o.precision, o.batch, kCuda, info.config};
  spec.graph = false;  // one launch of a graph is like any other
  return spec;
}

/// Counts the second step, when all caches are filled.
void count_step(const bench::WorkloadSpec& spec) {
  emulate::Machine& machine = emulate::Machine::instance();
  machine.races = false;  // which the tests look for
  bench::Workload workload(spec);
  workload.step();
  machine.kernels.clear();
  machine.counts = true;
  workload.step();
  machine.counts = false;
}

json kernels_counted() {
  constexpr std::uint64_t kSector = 32;
  json all = json::array();
  for (const auto& [name, c] : fake::kernels_run()) {
    all.push_back({{"name", name},
                   {"launches", c.launches},
                   {"bytes", kSector * c.distinct_sectors},
                   {"requested_bytes", c.global_bytes},
                   {"wavefronts", c.wavefronts},
                   {"mma_bf16", c.mma - c.mma_tf32},
                   {"mma_tf32", c.mma_tf32},
                   {"exponentials", c.exponentials}});
  }
  return all;
}

const char* name_of(cudaDataType_t type) {
  return type == CUDA_R_64F ? "f64" : type == CUDA_R_32F ? "f32" : "bf16";
}

json products_counted() {
  json all = json::array();
  for (const auto& [op, form, adds] : fake::products_counted()) {
    const bool is_tf32 = form.operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const bool is_transposed = form.operation.transa != CUBLAS_OP_N;
    all.push_back({{"op", op},
                   {"m", form.d.rows},
                   {"n", form.d.columns},
                   {"k", is_transposed ? form.a.rows : form.a.columns},
                   {"batch", form.d.batch},
                   {"factors", is_tf32 ? "TF32" : name_of(form.a.type)},
                   {"result", name_of(form.d.type)},
                   {"adds", adds}});
  }
  return all;
}

int main_body(int argc, char** argv) {
  CountOptions options;
  parse_into_fields(
      argc, argv,
      {"kernel_counts", "Counts what a step of a model asks of a GPU, on the fake device.", "",
       fields_of(options)});
  check_usage(!options.model.empty() && !options.file.empty(),
              "kernel_counts: expected --model and --json");
  start_computing(kCuda);
  count_step(spec_of(options));
  const json counts{{"kernels", kernels_counted()}, {"products", products_counted()}};
  write_file_atomically(options.file, json_text(counts, 1) + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_app(argc, argv, main_body); }
