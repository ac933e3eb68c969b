// The run's plan, timed with its own training step and evaluation.
#include "train/plan/plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <utility>

#include "engine/base/text.h"
#include "train/loop/epoch_layout.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Times three steps on images of the data set after one warm-up step. Returns the median seconds
/// per step and the time spent waiting for data. A step of `all` batches is extrapolated from two.
std::pair<double, double> time_steps(Probe& probe, Loader& loader, std::int64_t all) {
  const std::int64_t taken = std::min<std::int64_t>(all, 2);
  const double times = static_cast<double>(all) / static_cast<double>(taken);
  std::array<double, 4> seconds{};
  double waited = 0;
  for (double& s : seconds) {
    const StageTimes before = probe.step().times();
    const auto start = Clock::now();
    probe.run(loader, taken);
    s = times * since(start);
    if (&s != seconds.data()) waited += times * (probe.step().times() - before).wait / 3;
  }
  std::sort(seconds.begin() + 1, seconds.end());
  return {seconds[2], std::min(waited, seconds[2])};
}

/// Mean over the epochs, because their image sizes may differ. A step has `batches` batches of the
/// probe's size: a process's shards.
void measure_steps(Probe& probe, std::int64_t batches, Plan& plan) {
  constexpr std::int64_t kMaxEpochs = 10'000;  // enough for the frequency of each size
  const std::int64_t epochs = std::min(plan.epochs, kMaxEpochs);
  std::map<std::int64_t, std::pair<ImageSize, double>> shares;  // keyed by height
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const ImageSize size = training_size(probe.config(), probe.own_size(), epoch);
    auto& [known, share] = shares[size.height];
    known = size;
    share += 1 / static_cast<double>(epochs);
  }
  for (const auto& [height, at] : shares) {
    const auto loader =
        training_loader(probe.images(), probe.data().train, at.first, {}, probe.preparation());
    const auto [seconds, waited] = time_steps(probe, *loader, batches);
    plan.seconds_per_step += at.second * seconds;
    plan.wait_per_step += at.second * waited;
  }
}

/// Extrapolated from the first batch; includes the evaluation of averaged weights.
void measure_evaluation(Probe& probe, Plan& plan) {
  EvaluateOptions one = evaluate_options(probe.config());
  one.on_batch = [](std::int64_t) { return false; };
  const auto start = Clock::now();
  const EvaluationPass pass = probe.step().task().evaluate(probe.data().test, one).pass;
  const double passes = probe.config().step.ema.keep ? 2 : 1;
  plan.evaluation_seconds = passes * since(start) * static_cast<double>(probe.data().test->size()) /
                            static_cast<double>(std::max<std::int64_t>(pass.samples, 1));
}

}  // namespace

Plan make_plan(const TrainConfig& config, const Datasets& data, Communicator& processes) {
  Plan plan;
  const Room room = room_of(config, processes);
  plan.available = room.available;
  plan.processes = processes.size();
  const std::int64_t shards = config.loop.shards == 0 ? plan.processes : config.loop.shards;
  TrainConfig part = config;  // of a batch: one shard
  part.images.loader.batch_size = (config.images.loader.batch_size + shards - 1) / shards;
  Probe probe(part, data);
  plan.parameters = probe.model().store().parameter_count();
  plan.flops_per_image = 2 * static_cast<double>(probe.model().multiply_adds());
  plan.batch_size = config.images.loader.batch_size;
  plan.steps_per_epoch = epoch_layout(data.train->size(), training_images(config).loader.epoch,
                                      {plan.batch_size, config.loop.grad_accum_steps})
                             .steps();
  plan.epochs = total_epochs(schedule_options(config), config.loop.cooldown_epochs);
  plan.evaluations = config.loop.evaluations(plan.epochs);
  plan.memory = plan_memory(probe, processes);
  plan.memory.program = room.program;
  plan.largest_batch =
      plan.available == 0 ? plan.batch_size : plan.memory.largest_batch(plan.available);
  if (!plan.fits()) return plan;
  const std::int64_t own = shards_of(shards, processes.rank(), processes.size()).mine();
  measure_steps(probe, own * config.loop.grad_accum_steps, plan);
  measure_evaluation(probe, plan);
  return plan;
}

std::string plan_table(const Plan& plan) {
  const MemoryPlan& m = plan.memory;
  const std::int64_t B = plan.batch_size;
  std::string text;
  const auto row = [&](const std::string& name, const std::string& value) {
    text += "  " + name + std::string(name.size() < 26 ? 26 - name.size() : 1, ' ') + value + "\n";
  };
  row("parameters", std::to_string(plan.parameters));
  row("forward pass per image", fixed_text(plan.flops_per_image * 1e-9, 3) + " GFLOP");
  const auto memory = [&](const std::string& name, std::int64_t bytes,
                          const std::string& more = "") {
    const std::string value = megabytes_text(bytes);
    row(name, std::string(value.size() < 13 ? 13 - value.size() : 0, ' ') + value + more);
  };
  memory("weights", m.weights);
  memory("gradients", m.gradients);
  memory("optimizer", m.optimizer);
  if (m.averages > 0) memory("averaged weights", m.averages);
  if (m.sums > 0) memory("sums over shards", m.sums);
  memory("activations, workspace", m.per_batch + m.images_of(B) * m.per_image);
  const std::int64_t others = (m.batches - 1) * m.images_of(B) * m.kept_image;
  if (others > 0) memory("other batches of a step", others);
  if (m.loader_image > 0) memory("prefetched batches", m.images_of(B) * m.loader_image);
  if (m.program > 0) memory("program and data set", m.program);
  const std::string of = plan.processes == 1 ? "" : "of each process, ";
  memory("total", m.total(B), " " + of + "at batch size " + std::to_string(B));
  if (plan.processes > 1) {
    memory("in all", plan.processes * m.total(B),
           " in " + std::to_string(plan.processes) + " processes");
  }
  if (plan.available > 0) {
    memory("available", plan.available,
           ", enough for batch size " + std::to_string(plan.largest_batch));
  }
  if (plan.seconds_per_step <= 0) return text;
  row("per step", fixed_text(plan.seconds_per_step, 3) + " s, including " +
                      fixed_text(plan.wait_per_step, 3) + " s waiting for data");
  row("per epoch",
      std::to_string(plan.steps_per_epoch) + (plan.steps_per_epoch == 1 ? " step, " : " steps, ") +
          format_duration(static_cast<double>(plan.steps_per_epoch) * plan.seconds_per_step) +
          ", plus " + format_duration(plan.evaluation_seconds) + " of evaluation" +
          (plan.evaluations < plan.epochs
               ? " after " + std::to_string(plan.evaluations) + " of them"
               : ""));
  const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(plan.total_seconds());
  row(std::to_string(plan.epochs) + (plan.epochs == 1 ? " epoch" : " epochs"),
      format_duration(plan.total_seconds()) + " total; would finish at " +
          local_time_text(end, "%Y-%m-%d %H:%M"));
  return text;
}

}  // namespace fovea
