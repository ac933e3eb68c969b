// ./run bench: speed and memory of the standard workloads, or of any model with --model; with
// --peer also of PyTorch and other peers, alternating repetition by repetition. Times are medians;
// the ceiling is the fastest square GEMM of the run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "apps/common/launch.h"
#include "apps/common/named_model.h"
#include "bench/median.h"
#include "bench/peer.h"
#include "bench/processes.h"
#include "bench/result.h"
#include "bench/spec_json.h"
#include "bench/workload.h"
#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/cpu_isa.h"
#include "engine/parallel.h"
#include "models/config_reader.h"
#include "train/settings/model_settings.h"

using namespace fovea;
using namespace fovea::bench;
using nlohmann::json;

namespace {

struct BenchOptions {
  std::string workload, model, classes, mode, precision, device = "cpu", json, memory_of;
  ModelSettings settings;
  std::int64_t batch = 0, reps = 7, threads = 0, ceiling = 2048, processes = 1, shards = 1;
  bool peer = false, compile = false, autotune = false, runtimes = false, one_process = false;
  bool turns = false, kernels = false, no_peaks = false;
};

Fields fields_of(BenchOptions& o) {
  const std::string group = "Benchmark";
  Fields fields = {
      {"workload", group, &o.workload, "workloads to run, separated by commas (default: all)"},
      {"model", group, &o.model,
       "benchmark this model instead: a name, a run directory, a hub folder or a weights file; "
       "only its architecture is used"},
      {"num-classes", group, &o.classes, "number of logits of --model; 0: no head"},
      {"mode", group, &o.mode, "run only this mode", -1, -1, {"train", "infer", "decode", "load"}},
      {"precision", group, &o.precision, "precision of the models", -1, -1, {"f32", "bf16"}},
      {"device", group, &o.device, "device of the models: cpu, cuda or cuda:N"},
      {"batch-size", group, &o.batch, "batch size (default: the workload's, 32 with --model)", 1,
       65536},
      {"batch", group, &o.batch, "alias of batch-size", 1, 65536},
      {"reps", group, &o.reps, "repetitions; the median is reported", 1, 1000},
      {"threads", group, &o.threads, "threads of both sides; 0: all", 0, 1024},
      {"ceiling", group, &o.ceiling, "size of the square GEMMs that measure the ceiling", 2, 65536},
      {"peer", group, &o.peer,
       "also run PyTorch, eager, with FOVEA_PEER_PYTHON or .venv-peer/bin/python"},
      {"compile", group, &o.compile, "with --peer: also PyTorch with torch.compile"},
      {"autotune", group, &o.autotune,
       "with --peer: also PyTorch with torch.compile(mode=\"max-autotune\")"},
      {"runtimes", group, &o.runtimes, "with --peer: for inference also OpenVINO and onnxruntime"},
      {"peer-in-one-process", group, &o.one_process,
       "run each peer in one process for all rows: its allocator keeps the memory of earlier rows"},
      {"processes", group, &o.processes,
       "compare training in so many processes (mpirun) with one; all have --threads together, and "
       "the peer is DistributedDataParallel",
       1, 64},
      {"shards", group, &o.shards, "internal: shards of --turns", 0, 64},
      {"kernels", group, &o.kernels, "on a GPU: also the time of each kernel, of three more steps"},
      {"no-peaks", group, &o.no_peaks,
       "do not measure peaks of memory, which takes a process per row"},
      {"json", group, &o.json, "write the rows to this file, after each of them"},
      {"turns", group, &o.turns, "internal: run one repetition per line of standard input"},
      {"memory-of", group, &o.memory_of, "internal: print one workload's memory peak and exit"},
  };
  o.settings.add_fields(fields);
  return fields;
}

BenchOptions parse(int argc, char** argv) {
  BenchOptions options;
  parse_into_fields(
      argc, argv,
      {"bench", "Measures the speed (median) and memory of the standard workloads or of any model.",
       "", fields_of(options)});
  check_usage(options.model.empty() || options.workload.empty(),
              "bench: got --model and --workload, expected only one of them");
  const char* const kind = options.compile    ? "--compile"
                           : options.autotune ? "--autotune"
                           : options.runtimes ? "--runtimes"
                                              : nullptr;
  check_usage(options.peer || kind == nullptr, "bench: got ", kind,
              " without --peer, which it adds to");
  check_usage(!options.kernels || !parse_device(options.device).is_cpu(),
              "bench: got --kernels without --device cuda, whose kernels it times");
  return options;
}

/// Workloads of --model with the given settings: training, if the model can be trained, and
/// inference.
std::vector<WorkloadSpec> workloads_of_model(const BenchOptions& o) {
  json settings = o.settings.overrides();
  if (!o.classes.empty()) settings["num_classes"] = parse_config_value(o.classes);
  check_usage(!o.model.empty() || settings.empty(), "bench: got ", json_text(settings),
              " as model settings, expected --model with them");
  if (o.model.empty()) return {};
  constexpr std::int64_t kBatch = 32;
  const ModelInfo info = make_named_model(o.model, json_text(settings), {})->info();
  std::vector<WorkloadSpec> specs{{info.name, "infer", "f32", kBatch, {}, info.config}};
  const bool has_goal = info.task != TaskKind::classification || info.num_classes > 0;
  if (has_goal) specs.insert(specs.begin(), {info.name, "train", "f32", kBatch, {}, info.config});
  return specs;
}

std::vector<WorkloadSpec> chosen(const BenchOptions& o) {
  std::vector<WorkloadSpec> offered = workloads_of_model(o), result;
  if (offered.empty()) offered = standard_workloads();
  for (WorkloadSpec spec : offered) {
    const std::string list = "," + o.workload + ",";
    if (!o.workload.empty() && list.find("," + spec.id + ",") == std::string::npos) continue;
    if (!o.mode.empty() && spec.mode != o.mode) continue;
    if (!o.precision.empty()) spec.precision = o.precision;
    if (o.batch > 0) spec.batch = o.batch;
    spec.device = parse_device(o.device);
    if (spec.mode == "load" && !spec.device.is_cpu()) continue;  // loaders have no device
    result.push_back(spec);
  }
  if (result.empty()) {
    std::string known;
    for (const WorkloadSpec& s : offered) known += " " + s.id + "/" + s.mode;
    throw UsageError("bench: no matching workload, expected one of:" + known);
  }
  return result;
}

double seconds_of(Workload& workload) {
  const auto start = std::chrono::steady_clock::now();
  workload.step();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Our peak memory, measured in a fresh process of this program.
double peak_of(const WorkloadSpec& spec, const std::string& self) {
  const std::string command = shell_word(self) + " --memory-of " +
                              shell_word(json_text(json_of(spec))) + " --threads " +
                              std::to_string(num_threads());
  std::FILE* const pipe = popen(command.c_str(), "r");
  double value = 0;
  const bool read = pipe != nullptr && std::fscanf(pipe, "%lf", &value) == 1;
  if (pipe != nullptr) pclose(pipe);
  check(read, "bench: the process that measures memory failed");
  return value;
}

int print_peak(const BenchOptions& options) {
  std::printf("%.1f\n", measure_peak_mb(spec_of(json::parse(options.memory_of))));
  return 0;
}

using Peers = std::deque<Peer>;  // which never moves them

/// The kinds of peers, see bench/peer.py.
std::vector<std::string> peer_kinds(const BenchOptions& o) {
  std::vector<std::string> kinds;
  if (o.peer) kinds.emplace_back("eager");
  if (o.compile) kinds.emplace_back("compile");
  if (o.autotune) kinds.emplace_back("autotune");
  if (o.runtimes) kinds.insert(kinds.end(), {"openvino", "onnxruntime"});
  return kinds;
}

/// A peer beside one workload.
struct Rival {
  Peer* peer;
  std::string lack;  ///< why it cannot run
  std::vector<double> seconds{};
};

std::vector<Rival> rivals_of(const Workload& ours, const WorkloadSpec& spec, Peers& peers) {
  std::vector<Rival> rivals;
  for (Peer& peer : peers) {
    if (peer.is_for(spec)) rivals.push_back({&peer, peer.set_up(spec, ours.parameters())});
  }
  return rivals;
}

/// Our seconds and those of the peers, who alternate repetition by repetition.
std::vector<double> alternate(Workload& ours, std::vector<Rival>& rivals, std::int64_t reps) {
  std::vector<double> seconds;
  for (std::int64_t turn = -ours.warm_up(); turn < reps; ++turn) {
    const double mine = seconds_of(ours);
    if (turn >= 0) seconds.push_back(mine);
    for (Rival& rival : rivals) {
      if (!rival.lack.empty()) continue;
      const double theirs = rival.peer->seconds();
      if (turn >= 0) rival.seconds.push_back(theirs);
    }
  }
  return seconds;
}

PeerResult result_of(const Rival& rival, const WorkloadSpec& spec, double images,
                     const std::vector<double>& ours, bool has_peak) {
  PeerResult result{.name = rival.peer->name(), .note = rival.lack};
  if (!rival.lack.empty()) return result;
  result.img_s = images / median(rival.seconds);
  result.ratio = speedup(ours, rival.seconds);
  if (has_peak) result.peak_mb = rival.peer->peak_mb(spec);
  if (spec.mode == "load") return result;
  result.products = rival.peer->products(spec.precision);
  result.note = rival.peer->objection(spec.precision);
  return result;
}

/// Sums over so many steps, which run op by op: a graph's kernels have no times of their own.
std::vector<cuda::KernelTime> kernels_of(WorkloadSpec spec) {
  spec.graph = false;
  Workload workload(spec);
  for (int i = 0; i < workload.warm_up(); ++i) workload.step();
  const cuda::KernelTimes times;
  for (int i = 0; i < Result::kTimedSteps; ++i) workload.step();
  return times.sums();
}

Result speed_of(const WorkloadSpec& spec, const BenchOptions& options, Peers& peers) {
  Workload ours(spec);
  std::vector<Rival> rivals = rivals_of(ours, spec, peers);
  const double product_rate = ours.product_rate();
  const std::vector<double> seconds = alternate(ours, rivals, options.reps);
  const auto images = static_cast<double>(ours.images());
  Result result{.spec = spec};
  result.img_s = images / median(seconds);
  result.gflops = ours.flop() * 1e-9 / median(seconds);
  result.product_gflops = std::max(product_rate, ours.product_rate()) * 1e-9;
  for (const Rival& rival : rivals) {
    result.peers.push_back(result_of(rival, spec, images, seconds, !options.no_peaks));
  }
  return result;
}

Result measure(const WorkloadSpec& spec, const BenchOptions& options, Peers& peers) {
  Result result = speed_of(spec, options, peers);
  if (options.kernels) result.kernels = kernels_of(spec);
  return result;
}

Peers start_peers(const BenchOptions& options) {
  Peers peers;
  for (const std::string& kind : peer_kinds(options)) {
    peers.emplace_back(kind, parse_device(options.device), Peer::Options{options.one_process});
    std::printf("peer: %s\n", peers.back().about().c_str());
  }
  return peers;
}

/// The fastest square products of the run, by precision, on either side. Prints them.
std::map<std::string, double> measure_ceilings(const std::vector<WorkloadSpec>& specs,
                                               const BenchOptions& options, Peers& peers) {
  std::map<std::string, double> ceilings;
  for (const WorkloadSpec& spec : specs) {
    if (ceilings.contains(spec.precision)) continue;
    double& best = ceilings[spec.precision];
    for (const std::int64_t side : {options.ceiling / 2, options.ceiling}) {
      best = std::max(best, measure_gemm_gflops(side, {spec.dtype(), spec.device}));
    }
    for (Peer& peer : peers) {
      const ProductRates& rates = peer.products(spec.precision);
      best = std::max({best, rates.ours, rates.theirs});
      const std::string objection = peer.objection(spec.precision);
      if (!objection.empty()) std::printf("note: %s: %s\n", peer.name().c_str(), objection.c_str());
    }
    std::printf("ceiling: %.0f GFLOP/s (best %s GEMM of this run)\n", best, spec.precision.c_str());
  }
  return ceilings;
}

/// Takes turns, so that bench/pairs.py can alternate between two builds.
int take_turns(const BenchOptions& options, Communicator& processes) {
  const std::vector<WorkloadSpec> specs = chosen(options);
  if (specs.size() != 1) throw UsageError("bench: --turns expects one workload and mode");
  return take_turns(specs.front(), options.shards, processes);
}

int run_bench(const BenchOptions& options, Communicator& processes, const std::string& self) {
  if (options.threads > 0) set_num_threads(static_cast<int>(options.threads));
  if (!options.memory_of.empty()) return print_peak(options);
  if (options.turns) return take_turns(options, processes);
  const Device device = parse_device(options.device);
  start_computing(device);
  if (options.processes > 1) {
    check_usage(device.is_cpu(), "bench: got --processes and --device ", options.device,
                ", expected the CPU, where processes are compared");
    const ProcessComparison how{options.processes, num_threads(), options.reps, options.peer};
    compare_processes(chosen(options), how, self);
    return 0;
  }
  const std::vector<WorkloadSpec> specs = chosen(options);
  std::printf("%s, %d thread%s, instruction set %s\n", to_string(device).c_str(), num_threads(),
              num_threads() == 1 ? "" : "s", std::string(to_string(cpu_isa())).c_str());
  Peers peers = start_peers(options);
  const std::map<std::string, double> ceilings = measure_ceilings(specs, options, peers);
  std::printf("\n%s", table_head().c_str());
  json objects = json::array();
  for (const WorkloadSpec& spec : specs) {
    Result result = measure(spec, options, peers);
    result.ceiling_gflops = ceilings.at(spec.precision);
    if (!options.no_peaks) result.peak_mb = peak_of(spec, self);
    std::printf("%s", table_lines(result).c_str());
    std::fflush(stdout);
    for (json& object : json_of(result)) objects.push_back(std::move(object));
    if (!options.json.empty()) write_file_atomically(options.json, json_text(objects, 1) + "\n");
  }
  return 0;
}

int run(int argc, char** argv) {
  return run_in_processes(argc, argv, [&](const Launch& launch) {
    return run_bench(parse(argc, argv), launch.processes, argv[0]);
  });
}

}  // namespace

int main(int argc, char** argv) { return run_app(argc, argv, run); }
