// The benchmark's steps on the fake device: those of runs and evaluations, repeated as a graph.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <vector>

#include "bench/workload.h"
#include "engine/storage.h"
#include "models/registry.h"
#include "tests/cuda/seeds.h"
#include "tests/cuda/small_runs.h"

using namespace fovea;
using bench::Workload;
using bench::WorkloadSpec;
using tests::kCuda;
using tests::take_findings;
using tests::take_launches;

namespace {

WorkloadSpec small_workload(const char* model, const char* mode, nlohmann::json settings) {
  settings["embed_dim"] = 12;
  settings["num_heads"] = 2;
  settings["depth"] = 1;
  const ModelInfo info = make_model(model, settings, 1, {})->info();
  return {info.name, mode, "bf16", 2, kCuda, info.config};
}

std::vector<WorkloadSpec> small_workloads() {
  const nlohmann::json mae{
      {"patch_size", 8}, {"decoder_embed_dim", 8}, {"decoder_depth", 1}, {"decoder_num_heads", 2}};
  const nlohmann::json dit{{"patch_size", 4}, {"img_size", 8}};
  return {small_workload("vit_tiny_patch4_32", "train", {{"patch_size", 8}}),
          small_workload("vit_tiny_patch4_32", "infer", {{"patch_size", 8}}),
          small_workload("mae_vit_tiny_patch4_32", "train", mae),
          small_workload("dit_s_4_32", "train", dit)};
}

}  // namespace

TEST_CASE("a benchmark's timed steps on a GPU are one launch each, and count their operations") {
  for (WorkloadSpec spec : small_workloads()) {
    CAPTURE(spec.id);
    CAPTURE(spec.mode);
    Workload workload(spec);
    for (int i = 0; i < workload.warm_up(); ++i) workload.step();
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(take_launches());
      workload.step();
      CHECK(take_launches() == 1);
    }
    spec.graph = false;
    Workload by_op(spec);
    by_op.step();
    static_cast<void>(take_launches());
    by_op.step();
    CHECK(take_launches() > 10);
    CHECK(by_op.flop() > 0);
    CHECK(workload.flop() == by_op.flop());
  }
  CHECK(take_findings().empty());
}

TEST_CASE("a benchmark's peak of memory is that of repeated steps, too") {
  WorkloadSpec spec = small_workloads().front();
  spec.batch = 32;
  const double repeated = measure_peak_mb(spec);
  spec.graph = false;
  const double by_op = measure_peak_mb(spec);
  constexpr double kBatch = 32 * 3 * 32 * 32 * 4 / double(1 << 20);  // its fixed place
  CHECK(repeated >= by_op + 0.9 * kBatch);
}

TEST_CASE("a benchmark of a decoder runs op by op, as samples do") {
  const nlohmann::json settings{{"block_out_channels", {4, 8}},
                                {"layers_per_block", 1},
                                {"norm_num_groups", 2},
                                {"img_size", 8}};
  const ModelInfo info = make_model("vae_f4_32", settings, 1, {})->info();
  Workload workload({info.name, "decode", "f32", 2, kCuda, info.config});
  const std::int64_t before = tests::graphs_launched();
  for (int i = 0; i < 6; ++i) workload.step();
  CHECK(tests::graphs_launched() == before);
  CHECK(take_findings().empty());
}
