// ./run bench: speed and memory of the standard workloads, or of any model with --model; with
// --peer also of PyTorch, alternating repetition by repetition. Times are medians; the ceiling is
// the fastest f32 GEMM of the run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/common/app.h"
#include "apps/common/cli.h"
#include "apps/common/launch.h"
#include "apps/common/named_model.h"
#include "bench/median.h"
#include "bench/peer_process.h"
#include "bench/photographs.h"
#include "bench/processes.h"
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
  bool peer = false, compile = false, one_process = false, turns = false;
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
      {"peer", group, &o.peer, "also run PyTorch: FOVEA_PEER_PYTHON or .venv-peer/bin/python"},
      {"compile", group, &o.compile, "run the peer with torch.compile instead of eager"},
      {"peer-in-one-process", group, &o.one_process,
       "run the peer in one process for all rows: its allocator keeps the memory of earlier rows"},
      {"processes", group, &o.processes,
       "compare training in so many processes (mpirun) with one; all have --threads together, and "
       "the peer is DistributedDataParallel",
       1, 64},
      {"shards", group, &o.shards, "internal: shards of --turns", 0, 64},
      {"json", group, &o.json, "write the rows to this file"},
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

json spec_json(const WorkloadSpec& s) {
  json spec{{"workload", s.id},
            {"mode", s.mode},
            {"precision", s.precision},
            {"batch", s.batch},
            {"device", to_string(s.device)}};
  if (!s.config.empty()) spec["config"] = json::parse(s.config);
  return spec;
}

/// Our peak memory, measured in a fresh process of this program.
double peak_of(const WorkloadSpec& spec, const std::string& self) {
  const std::string command = shell_word(self) + " --memory-of " +
                              shell_word(json_text(spec_json(spec))) + " --threads " +
                              std::to_string(num_threads());
  std::FILE* const pipe = popen(command.c_str(), "r");
  double value = 0;
  const bool read = pipe != nullptr && std::fscanf(pipe, "%lf", &value) == 1;
  if (pipe != nullptr) pclose(pipe);
  check(read, "bench: the process that measures memory failed");
  return value;
}

int print_peak(const BenchOptions& options) {
  const json j = json::parse(options.memory_of);
  const std::string config = j.contains("config") ? json_text(j.at("config")) : "";
  std::printf("%.1f\n",
              measure_peak_mb({j.at("workload"), j.at("mode"), j.at("precision"), j.at("batch"),
                               parse_device(j.at("device").get<std::string>()), config}));
  return 0;
}

/// PyTorch, in processes of its own.
class Peer {
 public:
  /// Throws Error if the peer's products are so slow that a comparison is not fair.
  explicit Peer(const BenchOptions& options)
      : compile_(options.compile),
        one_process_(options.one_process),
        device_(parse_device(options.device)) {
    python_ = peer_python().string();
    process_.emplace(python_, kScript);
    const json info = process_->ask({{"cmd", "info"}});
    measure_products();
    name = "torch " + info["torch"].get<std::string>() + (compile_ ? " compile" : " eager");
    std::printf("peer: %s, timm %s, %s, %s; %s\n      GEMM 1024^3: %.0f GFLOP/s, ours %.0f\n",
                name.c_str(), info["timm"].get<std::string>().c_str(),
                info["cpu"].get<std::string>().c_str(),
                info["attention"].get<std::string>().c_str(),
                info["blas"].get<std::string>().c_str(), gemm_, our_gemm_);
    check(
        is_worthy(), "peer: its GEMMs run at ", gemm_, " GFLOP/s, under 70 % of our ", our_gemm_,
        ": not a fair comparison; install PyTorch from PyPI with bench/make_peer.sh, or limit both "
        "to AVX2 with FOVEA_ISA=v3");
  }

  /// Sets the peer up in a new process, so that a row does not depend on earlier rows: PyTorch's
  /// inference is faster if training left memory that the C library does not return. Returns the
  /// reason if the peer has no such model, else "". Throws if a standard workload's model has
  /// another number of parameters than ours.
  std::string set_up(const WorkloadSpec& spec, std::int64_t parameters) {
    if (!one_process_) process_.emplace(python_, kScript);
    const json answer = process_->ask(with_setup(spec));
    if (answer.contains("lacks")) return answer["lacks"];
    const auto theirs = answer["parameters"].get<std::int64_t>();
    if (theirs == parameters) return {};
    const std::string differ = "its " + spec.id + " has " + std::to_string(theirs) +
                               " parameters, ours " + std::to_string(parameters) +
                               ": not the same model";
    check(!spec.config.empty(), "peer: ", differ, "; correct bench/peer.py or bench/peer_models/");
    return differ;
  }
  double rep() { return process_->ask({{"cmd", "rep"}})["seconds"]; }

  double peak_mb(const WorkloadSpec& spec) const {
    PeerProcess fresh(python_, kScript);
    (void)fresh.ask(with_setup(spec));
    return fresh.ask({{"cmd", "peak"}})["peak_mb"];
  }

  [[nodiscard]] double best_gemm() const { return std::max(gemm_, our_gemm_); }
  std::string name;

 private:
  static constexpr const char* kScript = FOVEA_SOURCE_DIR "/bench/peer.py";

  [[nodiscard]] bool is_worthy() const { return gemm_ >= 0.7 * our_gemm_; }

  /// Measures GFLOP/s of both sides, the best of several turns. More turns are taken if the peer is
  /// slower, which may be chance on a busy machine.
  void measure_products() {
    const json command{{"cmd", "gemm"},
                       {"m", 1024},
                       {"n", 1024},
                       {"k", 1024},
                       {"threads", num_threads()},
                       {"device", to_string(device_)}};
    for (int turn = 0; turn < 3 || (turn < 20 && !is_worthy()); ++turn) {
      our_gemm_ = std::max(our_gemm_, measure_gemm_gflops(1024, device_));
      gemm_ = std::max(gemm_, process_->ask(command)["gflops"].get<double>());
    }
  }

  json with_setup(const WorkloadSpec& spec) const {
    json command = spec_json(spec);
    command["cmd"] = "setup";
    command["threads"] = num_threads();
    command["compile"] = compile_;
    if (spec.mode == "load") command["folder"] = (photographs() / "jpeg").string();
    return command;
  }

  bool compile_, one_process_;
  Device device_;
  std::string python_;
  std::optional<PeerProcess> process_;
  double gemm_ = 0, our_gemm_ = 0;
};

json measure(const WorkloadSpec& spec, const BenchOptions& options, Peer* peer) {
  constexpr int kWarmUp = 2;
  Workload ours(spec);
  const std::string lacks = peer != nullptr ? peer->set_up(spec, ours.parameters()) : "";
  if (!lacks.empty()) {
    std::printf("peer: %s; running fovea only:\n", visible_text(lacks).c_str());
    peer = nullptr;
  }
  std::vector<double> our_times, peer_times;
  for (int i = -kWarmUp; i < options.reps; ++i) {
    const double mine = seconds_of(ours), theirs = peer != nullptr ? peer->rep() : 0;
    if (i < 0) continue;
    our_times.push_back(mine);
    peer_times.push_back(theirs);
  }
  json row = spec_json(spec);
  const double batch = static_cast<double>(ours.images()), seconds = median(our_times);
  row["threads"] = num_threads();
  row["isa"] = std::string(to_string(cpu_isa()));
  row["ours_img_s"] = batch / seconds;
  row["gflops"] = ours.flop() * 1e-9 / seconds;
  for (const char* key : {"peer_img_s", "peer_name", "ratio", "peer_peak_mb"}) row[key] = nullptr;
  if (peer != nullptr) {
    row["peer_img_s"] = batch / median(peer_times);
    row["peer_name"] = peer->name;
    row["ratio"] = speedup(our_times, peer_times);
  }
  return row;
}

std::string text_of(const json& value, const char* format) {
  if (!value.is_number()) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, value.get<double>());
  return text;
}

void print_row(const json& r) {
  std::printf("%-22s %-5s %-4s %5lld %10s %10s %6s %9s %7s %9s %9s\n",
              r["workload"].get<std::string>().c_str(), r["mode"].get<std::string>().c_str(),
              r["precision"].get<std::string>().c_str(), r["batch"].get<long long>(),
              text_of(r["ours_img_s"], "%.1f").c_str(), text_of(r["peer_img_s"], "%.1f").c_str(),
              text_of(r["ratio"], "%.2f").c_str(), text_of(r["gflops"], "%.1f").c_str(),
              text_of(r["ceiling_share"], "%.2f").c_str(), text_of(r["peak_mb"], "%.0f").c_str(),
              text_of(r["peer_peak_mb"], "%.0f").c_str());
  std::fflush(stdout);
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
  if (options.processes > 1) {
    if (options.peer) static_cast<void>(Peer(options));  // throws if the comparison is not fair
    const ProcessComparison how{options.processes, num_threads(), options.reps, options.peer};
    compare_processes(chosen(options), how, self);
    return 0;
  }
  const Device device = parse_device(options.device);
  require_device(device);
  const std::vector<WorkloadSpec> specs = chosen(options);
  std::printf("%s, %d thread%s, instruction set %s\n", to_string(device).c_str(), num_threads(),
              num_threads() == 1 ? "" : "s", std::string(to_string(cpu_isa())).c_str());
  std::optional<Peer> peer;
  if (options.peer) peer.emplace(options);
  const double ceiling =
      std::max({measure_gemm_gflops(options.ceiling / 2, device),
                measure_gemm_gflops(options.ceiling, device), peer ? peer->best_gemm() : 0.0});
  std::printf("ceiling: %.0f GFLOP/s (best f32 GEMM of this run)\n\n", ceiling);
  std::printf("%-22s %-5s %-4s %5s %10s %10s %6s %9s %7s %9s %9s\n", "workload", "mode", "prec",
              "batch", "img/s", "peer", "ratio", "GFLOP/s", "share", "peak MB", "peer MB");
  json rows = json::array();
  for (const WorkloadSpec& spec : specs) {
    const bool compared = peer && (spec.mode != "load" || !photographs().empty());
    json row = measure(spec, options, compared ? &*peer : nullptr);
    row["ceiling_gflops"] = ceiling;
    row["ceiling_share"] = row["gflops"].get<double>() / ceiling;
    row["peak_mb"] = peak_of(spec, self);
    if (row["peer_name"].is_string()) row["peer_peak_mb"] = peer->peak_mb(spec);
    print_row(row);
    rows.push_back(row);
  }
  if (!options.json.empty()) write_file_atomically(options.json, json_text(rows, 1) + "\n");
  return 0;
}

int run(int argc, char** argv) {
  return run_in_processes(argc, argv, [&](const Launch& launch) {
    return run_bench(parse(argc, argv), launch.processes, argv[0]);
  });
}

}  // namespace

int main(int argc, char** argv) { return run_app(argc, argv, run); }
