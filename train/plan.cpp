// Measured with the very step that training uses.
#include "train/plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/system_memory.h"
#include "base/text.h"
#include "engine/autograd.h"
#include "settings/pipeline.h"
#include "train/run_options.h"
#include "train/setup.h"
#include "train/tasks.h"

namespace fovea {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::int64_t bytes_of(const Tensor& t) { return t.defined() ? t.byte_count() : 0; }

/// A model and its step, made like those of a run.
struct Probe {
  TrainConfig config;
  std::unique_ptr<Model> model;
  TrainStep step;
  Progress progress;

  Probe(const TrainConfig& c, std::unique_ptr<Model> m, std::int64_t samples)
      : config(c),
        model(std::move(m)),
        step(step_options(c), *model, make_task(c, model->info(), samples)) {}

  /// Of training's images where they are largest.
  ImageSize largest_size() const {
    ImageSize size{model->info().img_size[0], model->info().img_size[1]};
    for (const double side : config.train_img_sizes) {
      size.height = std::max(size.height, static_cast<std::int64_t>(side));
      size.width = std::max(size.width, static_cast<std::int64_t>(side));
    }
    return size;
  }

  static Batch random_batch(std::int64_t rows, ImageSize image) {
    const auto [height, width] = image;
    return {rand_normal({rows, 3, height, width}, {0, 1}, {1}), zeros({rows}, {DType::i64, {}}),
            zeros({rows}, {DType::i64, {}})};
  }

  void run(const Batch& batch) {
    step.run([&] { return batch; }, 1, 0, progress);
    step.settle(progress);
  }

  /// Bytes at the peak of a step on `size` images, above what is there between steps.
  std::int64_t peak_of(std::int64_t size) {
    const Batch batch = random_batch(size * splits_of(config), largest_size());
    run(batch);  // kept workspaces and shadows of the weights are made once
    model->store().zero_grad();
    const Device device = model->device();
    reset_peak_memory(device);
    const std::int64_t before = memory_stats(device).current_bytes;
    run(batch);
    return memory_stats(device).peak_bytes - before;
  }
};

std::unique_ptr<Probe> make_probe(TrainConfig config, const Datasets& data) {
  std::vector<std::string> notices;
  std::unique_ptr<Model> model = build_model(config, *data.train, notices);
  if (config.resume.empty())
    set_initial_weights(initial_weights(config), *model, notices);  // are the files there?
  return std::make_unique<Probe>(config, std::move(model), data.train->size());
}

MemoryPlan plan_memory(Probe& probe) {
  MemoryPlan plan;
  for (const Parameter& p : probe.model->store().parameters()) {
    plan.weights += bytes_of(p.tensor);
    if (p.tensor.requires_grad()) plan.gradients += bytes_of(p.tensor);
  }
  for (const Parameter& b : probe.model->store().buffers()) plan.weights += bytes_of(b.tensor);
  for (const auto& [name, tensor] : probe.step.optimizer().state())
    plan.optimizer += bytes_of(tensor);
  if (probe.step.ema() != nullptr) {
    for (const auto& [name, tensor] : probe.step.ema()->averages())
      plan.averages += bytes_of(tensor);
  }

  // Pairs of images, since mixing wants an even number.
  const std::int64_t less = probe.peak_of(4), more = probe.peak_of(8);
  plan.per_image = std::max<std::int64_t>(0, (more - less) / 4);
  plan.per_batch = std::max<std::int64_t>(0, more - 8 * plan.per_image - plan.gradients);
  if (!probe.model->device().is_cpu()) return plan;
  const auto [height, width] = probe.largest_size();
  const std::int64_t ahead = 2 * std::max<std::int64_t>(1, probe.config.workers) + 1;
  const std::int64_t values = splits_of(probe.config) * 3 * height * width;
  plan.loader_image = ahead * values * static_cast<std::int64_t>(sizeof(float));
  return plan;
}

/// As the trainer counts them: what is left at the end makes a smaller step.
std::int64_t steps_of_epoch(const TrainConfig& config, const Loader& loader) {
  const std::int64_t group = config.grad_accum_steps;
  return (loader.batches_per_epoch() + group - 1) / group;
}

/// Three steps on images of the data set, after one that warms up: the median of their seconds and
/// what they waited for data.
std::pair<double, double> time_steps(Probe& probe, Loader& loader) {
  std::array<double, 4> seconds{};
  double waited = 0;
  for (double& s : seconds) {
    const StageTimes before = probe.step.times();
    const auto start = Clock::now();
    probe.step.run([&] { return loader.next(); }, probe.config.grad_accum_steps, 0, probe.progress);
    probe.step.settle(probe.progress);
    s = since(start);
    if (&s != seconds.data()) waited += (probe.step.times() - before).wait / 3;
  }
  std::sort(seconds.begin() + 1, seconds.end());
  return {seconds[2], std::min(waited, seconds[2])};
}

/// The mean over the epochs, whose images may differ in size.
void measure_steps(Probe& probe, const Datasets& data, Plan& plan) {
  constexpr std::int64_t kMostEpochs = 10'000;  // enough to know how often each size comes
  const ImageSize own{probe.model->info().img_size[0], probe.model->info().img_size[1]};
  const std::int64_t epochs = std::min(plan.epochs, kMostEpochs);
  const TrainingSizes sizes = training_sizes(probe.config);
  std::map<std::int64_t, std::pair<ImageSize, double>> shares;  // by height
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const ImageSize size = training_size(sizes, own, epoch);
    auto& [known, share] = shares[size.height];
    known = size;
    share += 1 / static_cast<double>(epochs);
  }
  for (const auto& [height, at] : shares) {
    const auto loader = training_loader(training_images(probe.config), data.train, at.first);
    plan.steps_per_epoch = steps_of_epoch(probe.config, *loader);
    const auto [seconds, waited] = time_steps(probe, *loader);
    plan.seconds_per_step += at.second * seconds;
    plan.wait_per_step += at.second * waited;
  }
}

/// From the first batch. Averaged weights are evaluated besides.
void measure_evaluation(Probe& probe, const Datasets& data, Plan& plan) {
  EvaluateOptions one = evaluate_options(probe.config);
  one.on_batch = [](std::int64_t) { return false; };
  const auto start = Clock::now();
  const EvaluationPass pass = probe.step.task().evaluate(*probe.model, data.test, one).pass;
  const double passes = probe.config.model_ema ? 2 : 1;
  plan.evaluation_seconds = passes * since(start) * static_cast<double>(data.test->size()) /
                            static_cast<double>(std::max<std::int64_t>(pass.samples, 1));
}

std::string megabytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%10.1f MB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  char text[48];
  std::snprintf(text, sizeof text, "%lld:%02lld:%02lld h", whole / 3600, whole / 60 % 60,
                whole % 60);
  return text;
}

std::string end_after(double seconds) {
  const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(seconds);
  std::tm parts{};
  localtime_r(&end, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

/// What there is before a model is made.
struct Room {
  std::int64_t program = 0;    ///< resident already; on the CPU
  std::int64_t available = 0;  ///< for the whole run, with what is resident or cached; 0: not known
};

Room room_of(const TrainConfig& config) {
  const Device device = parse_device(config.device);
  require_device(device);
  Room room;
  if (device.is_cpu()) room.program = resident_memory();
  const std::int64_t free = free_memory(device);
  const std::int64_t own = device.is_cpu() ? room.program : memory_stats(device).reserved_bytes;
  if (free > 0) room.available = free + own;
  return room;
}

}  // namespace

std::int64_t MemoryPlan::largest_batch(std::int64_t available) const {
  const std::int64_t each = std::max<std::int64_t>(1, per_image + loader_image);
  return std::max<std::int64_t>(0, (available - total(0)) / each);
}

Plan make_plan(const TrainConfig& config, const Datasets& data) {
  Plan plan;
  const Room room = room_of(config);
  plan.available = room.available;
  const std::unique_ptr<Probe> probe = make_probe(config, data);
  plan.parameters = probe->model->store().parameter_count();
  plan.flops_per_image = 2 * static_cast<double>(probe->model->multiply_adds());
  plan.batch_size = config.batch_size;
  plan.epochs = total_epochs(schedule_options(config), config.cooldown_epochs);
  plan.memory = plan_memory(*probe);
  plan.memory.program = room.program;
  plan.largest_batch =
      plan.available == 0 ? plan.batch_size : plan.memory.largest_batch(plan.available);
  if (!plan.fits()) return plan;
  measure_steps(*probe, data, plan);
  measure_evaluation(*probe, data, plan);
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
  row("forward pass of an image", fixed_text(plan.flops_per_image * 1e-9, 3) + " GFLOP");
  row("weights", megabytes(m.weights));
  row("gradients", megabytes(m.gradients));
  row("optimizer", megabytes(m.optimizer));
  if (m.averages > 0) row("averaged weights", megabytes(m.averages));
  row("activations, workspace", megabytes(m.per_batch + B * m.per_image));
  if (m.loader_image > 0) row("batches made ahead", megabytes(B * m.loader_image));
  if (m.program > 0) row("program and data set", megabytes(m.program));
  row("all together", megabytes(m.total(B)) + " with batches of " + std::to_string(B));
  if (plan.available > 0) {
    row("available", megabytes(plan.available) + ", enough for batches of " +
                         std::to_string(plan.largest_batch));
  }
  if (plan.seconds_per_step <= 0) return text;
  row("a step", fixed_text(plan.seconds_per_step, 3) + " s, of which " +
                    fixed_text(plan.wait_per_step, 3) + " s wait for data");
  row("an epoch", std::to_string(plan.steps_per_epoch) + " steps, " +
                      duration(static_cast<double>(plan.steps_per_epoch) * plan.seconds_per_step) +
                      ", and " + duration(plan.evaluation_seconds) + " to evaluate");
  row("all " + std::to_string(plan.epochs) + " epochs",
      duration(plan.total_seconds()) + ", started now until " + end_after(plan.total_seconds()));
  return text;
}

std::string what_fits(const TrainConfig& config, const Datasets& data) {
  const std::string less = "a smaller --img-size or model, or --grad-checkpointing, takes less";
  const Room room = room_of(config);
  if (room.available == 0) return less;  // not known
  std::int64_t most = 0;
  try {
    MemoryPlan memory = plan_memory(*make_probe(config, data));
    memory.program = room.program;
    most = memory.largest_batch(room.available);
  } catch (const OutOfMemory&) {
    return "not even 8 images fit; " + less;
  }
  if (most < task_info(config).batch_multiple) return "not even the smallest batch fits; " + less;
  const std::string size = "--batch-size " + std::to_string(most);
  if (most < config.batch_size) return size + " fits; --auto-batch finds it and accumulates";
  return size +
         " fits as the program stands now: did something else take memory, or was it "
         "--val-batch-size?";
}

void fit_batch_size(TrainConfig& config, const Datasets& data) {
  const Room room = room_of(config);
  if (room.available == 0) return;
  MemoryPlan memory = plan_memory(*make_probe(config, data));
  memory.program = room.program;
  const std::int64_t most = std::min(memory.largest_batch(room.available), config.batch_size);
  const std::int64_t least = task_info(config).batch_multiple;
  for (std::int64_t size = most; size >= least; --size) {
    if (config.batch_size % size != 0 || size % least != 0) continue;
    config.grad_accum_steps *= config.batch_size / size;
    config.batch_size = size;
    return;
  }
  fail("--auto-batch: ", config.model, " needs ", megabytes(memory.total(least)),
       " for a batch of ", least, ", but ", megabytes(room.available), " are available; a smaller ",
       "--img-size or model, or --grad-checkpointing, takes less");
}

}  // namespace fovea
