// Memory of a run, measured by running the training step on small batches.
#include "train/plan/memory_plan.h"

#include <algorithm>
#include <span>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/system_memory.h"
#include "engine/base/text.h"
#include "engine/device.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

constexpr std::int64_t kFewImages = 4;  // in the smaller of the two measured batches
// 1 / 16 of the machine's memory stays free for other programs
constexpr std::int64_t kLeftToOthers = 16;

std::int64_t bytes_of(const Tensor& t) { return t.defined() ? t.byte_count() : 0; }

MemoryPlan measured(const TrainConfig& config, const Datasets& data,
                    const Communicator& processes = single_process()) {
  Probe probe(config, data);
  return plan_memory(probe, processes);
}

/// Flat copies of the gradients, of one shard or of several added up, and the sum over all. With a
/// sharded optimizer, a process keeps its part of moments and averages.
void plan_processes(MemoryPlan& plan, const LoopOptions& options, const Communicator& processes) {
  const std::int64_t size = processes.size();
  plan.shards = options.shards == 0 ? size : options.shards;
  if (plan.shards > 1) plan.sums = 2 * plan.gradients;
  if (options.zero == 0) return;
  plan.optimizer = (plan.optimizer + size - 1) / size;
  plan.averages = (plan.averages + size - 1) / size;
}

/// The least of the processes' numbers.
std::int64_t least_of(std::int64_t mine, Communicator& processes) {
  const double own = static_cast<double>(mine);
  for (const std::vector<double>& theirs : all_gather(processes, std::span(&own, 1)))
    mine = std::min(mine, static_cast<std::int64_t>(theirs.front()));
  return mine;
}

}  // namespace

MemoryPlan plan_memory(Probe& probe, const Communicator& processes) {
  MemoryPlan plan;
  for (const Parameter& p : probe.model().store().parameters()) {
    plan.weights += bytes_of(p.tensor);
    if (p.tensor.requires_grad()) plan.gradients += bytes_of(p.tensor);
  }
  for (const Parameter& b : probe.model().store().buffers()) plan.weights += bytes_of(b.tensor);
  for (const auto& [name, tensor] : probe.step().optimizer().state())
    plan.optimizer += bytes_of(tensor);
  if (probe.step().ema() != nullptr) {
    for (const auto& [name, tensor] : probe.step().ema()->averages())
      plan.averages += bytes_of(tensor);
  }

  plan_processes(plan, probe.config().loop, processes);

  const std::int64_t unit = probe.task().batch_multiple;
  const std::int64_t few = unit * std::max<std::int64_t>(1, kFewImages / unit);
  const std::int64_t less = probe.peak_of(few), more = probe.peak_of(2 * few);
  plan.per_image = std::max<std::int64_t>(0, (more - less) / few);
  plan.per_batch = std::max<std::int64_t>(0, more - 2 * few * plan.per_image - plan.gradients);
  plan.kept_image = probe.sample_bytes_of_step();
  plan.batches = probe.config().loop.grad_accum_steps;
  if (!probe.model().device().is_cpu()) return plan;
  const auto [height, width] = probe.largest_size();
  const std::int64_t ahead = 2 * std::max<std::int64_t>(1, probe.config().run.workers) + 1;
  const std::int64_t values = probe.config().images.loader.rows.splits * 3 * height * width;
  plan.loader_image = ahead * values * static_cast<std::int64_t>(sizeof(float));
  return plan;
}

Room room_of(const TrainConfig& config, const Communicator& processes) {
  const Device device = config.run.device;
  require_device(device);
  release_cached_memory(device);  // frees the memory of a failed run
  Room room;
  if (device.is_cpu()) room.program = resident_memory();
  const std::int64_t sharers = device.is_cpu() ? processes.local_size() : 1;
  const std::int64_t free = free_memory(device) / sharers;
  const std::int64_t own = device.is_cpu() ? room.program : memory_stats(device).reserved_bytes;
  if (free > 0) room.available = free + own;
  if (device.is_cpu()) room.available -= room.available / kLeftToOthers;
  return room;
}

std::int64_t MemoryPlan::largest_batch(std::int64_t available) const {
  return std::max<std::int64_t>(0, (available - total(0)) / std::max<std::int64_t>(1, each())) *
         shards;
}

std::string what_fits(const TrainConfig& config, const Datasets& data) {
  const std::string less = "use a smaller --img-size or model, or --grad-checkpointing";
  const Room room = room_of(config);
  if (room.available == 0) return less;  // unknown
  std::int64_t most = 0;
  try {
    MemoryPlan memory = measured(config, data);
    memory.program = room.program;
    most = memory.largest_batch(room.available);
  } catch (const OutOfMemory&) {
    return "not even " + std::to_string(2 * kFewImages) + " images fit; " + less;
  }
  if (most < task_info(config).batch_multiple) return "not even the smallest batch fits; " + less;
  const std::string size = "--batch-size " + std::to_string(most);
  if (most < config.images.loader.batch_size)
    return size + " fits; --auto-batch chooses it and accumulates gradients";
  return size +
         " fits at present: did another program use memory, or is --val-batch-size too large?";
}

void fit_batch_size(TrainConfig& config, const Datasets& data, Communicator& processes) {
  const Room room = room_of(config, processes);
  if (least_of(room.available, processes) == 0) return;
  MemoryPlan memory = measured(config, data, processes);
  memory.program = room.program;
  const std::int64_t batch_size = config.images.loader.batch_size;
  const std::int64_t least = task_info(config).batch_multiple * memory.shards;
  for (std::int64_t size = batch_size; size >= least; --size) {
    if (batch_size % size != 0 || size % least != 0) continue;
    memory.batches = config.loop.grad_accum_steps * (batch_size / size);
    if (least_of(room.available - memory.total(size), processes) < 0) continue;
    if (size == batch_size) return;
    apply_settings(config, {{"batch-size", std::to_string(size), kDerived},
                            {"grad-accum-steps", std::to_string(memory.batches), kDerived}});
    return;
  }
  fail("--auto-batch: ", config.model.name, " needs ", megabytes_text(memory.total(least)),
       " for a batch of ", least, ", but ", megabytes_text(room.available),
       " are available; use a smaller ", "--img-size or model, or --grad-checkpointing");
}

}  // namespace fovea
