// audit RUN --steps FIRST-LAST: computes these steps of a run again and compares the fingerprints.
// audit RUN: lists the steps for which this is possible.
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "apps/common/launch.h"
#include "apps/common/progress_line.h"
#include "engine/base/notices.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/parallel.h"
#include "train/run/audit.h"
#include "train/run/fingerprint.h"
#include "train/start/resolve.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"

namespace fovea::programs {
namespace {

using Fingerprints = std::map<std::int64_t, std::string>;  // by step

/// What differs from the run's own settings.
struct MachineSettings {
  std::string data_dir, device;
  std::int64_t threads = 0;
};

struct AuditRequest {
  RunPaths run;
  std::optional<Stretch> stretch;  ///< empty: list what can be audited
  MachineSettings machine;
};

/// Where to begin, and what to compare with. All but the first process know the settings only.
struct AuditPlan {
  KeptState from;
  Fingerprints logged;
  std::string settings;   ///< JSON of the state's settings
  std::int64_t last = 0;  ///< the last step with a fingerprint
  Notices notices;        ///< states that cannot be read
};

/// Compares each fingerprint as soon as it is known, and stops the run at the first that differs.
class FingerprintComparison : public RunObserver {
 public:
  FingerprintComparison(const AuditPlan& plan, ProgressLine& line)
      : logged_(plan.logged), first_(plan.from.step), last_(plan.last), line_(line) {}

  void compare(std::int64_t step, const std::string& computed) {
    const auto found = logged_.find(step);
    if (computed.empty() || found == logged_.end() || differs_) return;
    compared_.insert(step);
    differs_ = computed != found->second;
    if (!differs_) return;
    line_.print(concat("step ", step, ": the fingerprint differs from the log's\n  computed ",
                       computed, "\n  logged   ", found->second));
  }
  /// At the ends of epochs and of the run, where the log has fingerprints that enter no chain.
  void compare(const TrainState& state) {
    const FingerprintChain& chain = state.progress.fingerprints;
    const std::int64_t step = state.progress.step;
    if (!logged_.contains(step) || compared_.contains(step)) return;
    compare(step, fingerprint_at(chain, state.model->store()));
  }
  [[nodiscard]] bool differs() const { return differs_; }
  [[nodiscard]] bool is_complete() const { return differs_ || compared_.size() == logged_.size(); }

  void step(const EpochPosition& at) override {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    const std::int64_t done = at.epoch * at.steps + at.step - first_;
    line_.update({.label = concat("step ", first_ + done, " of ", last_),
                  .done = done,
                  .total = last_ - first_,
                  .seconds = passed.count(),
                  .img_s = at.img_s,
                  .note = {}});
  }
  void interval(const StepRow& row) override { compare(row.step, row.fingerprint); }
  void epoch(const EpochRow& /*row*/, const TrainState& state) override { compare(state); }
  void stop(const TrainState& state) override { compare(state); }
  void evaluation(std::int64_t done, std::int64_t total) override {
    line_.update({.label = "evaluating", .done = done, .total = total, .note = {}});
  }
  void notice(const std::string& text) override { line_.print(note_of(text)); }
  [[nodiscard]] bool asks_to_stop() override { return differs_; }

 private:
  const Fingerprints& logged_;
  std::int64_t first_, last_;
  ProgressLine& line_;
  std::set<std::int64_t> compared_;
  bool differs_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

AuditRequest read_audit_request(int argc, char** argv) {
  AuditRequest request;
  std::string steps;
  Fields fields;
  FieldGroup group(fields, "Audit");
  group.add("steps", &steps,
            "the steps to compute again, FIRST-LAST (default: only list those that can be)");
  group.add("data-dir", &request.machine.data_dir, "data folder (default: as in the run)");
  group.add("device", &request.machine.device, "cpu, cuda or cuda:N (default: as in the run)");
  group.number("threads", &request.machine.threads, "compute threads; 0: as in the run", {0, 1024});
  const std::vector<std::string> runs =
      parse_into_fields(argc, argv,
                        {"audit",
                         "Computes steps of a run again, from the newest state before them, and "
                         "compares the weights'\n"
                         "fingerprints with those in the run's log. Exit code 1 if one differs. "
                         "The run's folder stays\n"
                         "as it is. Without --steps, lists those that can be audited.",
                         "RUN_DIR", fields});
  check_usage(runs.size() == 1, "audit: got ", runs.size(), " run directories, expected one");
  request.run = {runs.front()};
  if (!steps.empty()) request.stretch = parse_stretch(steps);
  return request;
}

/// The first process reads the run's folder, which the other machines may lack.
AuditPlan audit_plan(const AuditRequest& request, Communicator& processes) {
  AuditPlan plan;
  if (processes.is_first()) {
    plan.logged = logged_fingerprints(request.run, *request.stretch);
    AuditStart start = state_before(request.run, request.stretch->first, plan.notices);
    plan.from = std::move(start.state);
    plan.settings = std::move(start.settings);
    plan.last = plan.logged.rbegin()->first;
  }
  if (processes.size() == 1) return plan;
  plan.settings = broadcast(processes, plan.settings);
  plan.last = *parse_integer(broadcast(processes, std::to_string(plan.last)));
  return plan;
}

TrainConfig config_of(const AuditPlan& plan, const MachineSettings& machine) {
  TrainConfig config = saved_config(plan.settings, plan.from.path.string());
  const Fields fields = fields_of(config);
  const auto set = [&](const char* name, const std::string& text) {
    if (!text.empty()) set_field(find_field(fields, name, "flag"), text);
  };
  set("data-dir", machine.data_dir);
  set("device", machine.device);
  if (machine.threads > 0) config.run.threads = machine.threads;
  config.loop.max_steps = plan.last;
  return config;
}

void print_notices(const Notices& notices, ProgressLine& line) {
  for (const std::string& text : notices.texts()) line.print(note_of(text));
}

/// Resumes the run, and compares the fingerprint of its state.
void begin(Trainer& trainer, const AuditPlan& plan, FingerprintComparison& comparison,
           ProgressLine& line) {
  print_notices(trainer.resume(plan.from.path, {.other_images = true}), line);
  comparison.compare(trainer.state());
}

/// Whether a fingerprint differs, in all processes.
bool differs(const TrainConfig& config, const AuditPlan& plan, Communicator& processes,
             ProgressLine& line) {
  Notices of_start;  // the run has shown them
  const Datasets data = open_datasets(config);
  Trainer trainer =
      make_trainer(config, data, build_model(config, *data.train, of_start), nullptr, processes);
  FingerprintComparison comparison(plan, line);
  if (processes.is_first()) begin(trainer, plan, comparison, line);
  trainer.share_state();
  static_cast<void>(processes.is_first() ? trainer.fit(comparison) : trainer.fit());
  check(
      !processes.is_first() || comparison.is_complete(), plan.from.path.string(),
      ": its settings give no fingerprint at ",
      "some of the logged steps; the run was later continued with another --fingerprint-interval, ",
      "and an audit needs a state from after that");
  return any(processes, comparison.differs());  // the others' have compared nothing
}

std::string count_text(std::size_t count) {
  return count == 1 ? "1 fingerprint" : std::to_string(count) + " fingerprints";
}

void list_auditable(const RunPaths& run, ProgressLine& line) {
  Notices notices;
  const std::vector<Auditable> parts = auditable(run, notices);
  print_notices(notices, line);
  std::string text = run.folder.string() + ": can be audited from each of its states";
  for (const Auditable& part : parts) {
    text += concat("\n  --steps ", part.steps.first, "-", part.steps.last, "  ",
                   count_text(static_cast<std::size_t>(part.fingerprints)));
  }
  line.print(text);
}

std::string steps_text(std::int64_t first, std::int64_t last) {
  return first == last ? concat("step ", first) : concat("the steps ", first, " to ", last);
}

/// What agrees, up to the last fingerprint of the stretch.
void print_agreement(const AuditPlan& plan, const Stretch& asked, ProgressLine& line) {
  const std::size_t count = plan.logged.size();
  line.print(concat(count == 1 ? "the fingerprint" : "all " + count_text(count), " of ",
                    steps_text(asked.first, plan.last), count == 1 ? " agrees" : " agree"));
  if (plan.last == asked.last) return;
  line.print(note_of("the log has no fingerprint of " + steps_text(plan.last + 1, asked.last)));
}

int audit_in(Communicator& processes, const AuditRequest& request) {
  ProgressLine line(1);
  if (!request.stretch) {
    if (processes.is_first()) list_auditable(request.run, line);
    return 0;
  }
  const AuditPlan plan = audit_plan(request, processes);
  const TrainConfig config = config_of(plan, request.machine);
  check_shards(config, processes.size());
  if (config.run.threads > 0) set_num_threads(static_cast<int>(config.run.threads));
  processes.set_timeout(std::chrono::duration<double>(config.run.comm_timeout));
  line.print(concat("auditing ", request.run.folder.string(), " from step ", plan.from.step, " to ",
                    plan.last));
  print_notices(plan.notices, line);
  start_computing(config.run.device);
  if (differs(config, plan, processes, line)) {
    line.print(note_of(
        "the bits also depend on the build, the device and the instruction set (FOVEA_ISA)"));
    return 1;
  }
  print_agreement(plan, *request.stretch, line);
  return 0;
}

}  // namespace

int run_audit(int argc, char** argv) {
  return run_in_processes(argc, argv, [&](const Launch& launch) {
    return audit_in(launch.processes, read_audit_request(argc, argv));
  });
}

}  // namespace fovea::programs
