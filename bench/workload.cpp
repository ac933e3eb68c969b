// Setup and steps of the workloads.
#include "bench/workload.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/photographs.h"
#include "bench/repeated_steps.h"
#include "data/augment/training_pipeline.h"
#include "data/loading/loader.h"
#include "engine/autograd.h"
#include "engine/completion.h"
#include "engine/cuda/runtime.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "models/vae.h"
#include "ops/ops.h"
#include "train/loop/shard_sums.h"
#include "train/optim/optimizer.h"
#include "train/plan/product_rate.h"
#include "train/run/timers.h"
#include "train/settings/config.h"
#include "train/start/tasks.h"

namespace fovea::bench {
namespace {

constexpr double kRate = 1e-4;  // of learning

/// "VmRSS", the resident memory, or "VmHWM", its peak since forget_peak(), in MiB.
double resident_mb(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stod(line.substr(field.size() + 1)) / 1024;
  }
  fail("bench: /proc/self/status has no ", field);
}

/// Resets the peak, which the kernel keeps across exec(): a new process inherits its parent's.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

void wait_for(Device device) {
  if (!device.is_cpu()) cuda::Stream::current(device.index).synchronize();
}

std::unique_ptr<Model> make_subject(const WorkloadSpec& spec) {
  constexpr std::uint64_t kSeed = 42;
  const TensorOptions options{DType::f32, spec.device};
  if (spec.config.empty()) return make_model(spec.id, nlohmann::json::object(), kSeed, options);
  return make_model_from_config(nlohmann::json::parse(spec.config), kSeed, options, spec.id);
}

/// The model's task with plain labels.
std::unique_ptr<const Task> plain_task(Model& model) {
  TrainConfig config = config_for(model.info().task);
  config.model.name = model.info().name;
  return make_task(config, model);
}

/// Seven objects per image, about as many as COCO's have.
void add_random_boxes(Batch& batch, const ModelInfo& info) {
  constexpr std::int64_t kObjects = 7;
  const std::int64_t count = batch.size(), height = info.img_size[0], width = info.img_size[1];
  const Tensor boxes = empty({count, kObjects, 4}),
               labels = empty({count, kObjects}, {DType::i64, {}});
  Rng rng(4);
  const auto coordinate = [&](std::int64_t side, double share) {
    return static_cast<float>(static_cast<double>(rng.below(side / 2)) +
                              share * static_cast<double>(side));
  };
  for (std::int64_t i = 0; i < count * kObjects; ++i) {
    float* const box = boxes.data<float>() + 4 * i;
    box[0] = coordinate(width, 0);
    box[1] = coordinate(height, 0);
    box[2] = coordinate(width, 0.5);
    box[3] = coordinate(height, 0.5);
    labels.data<std::int64_t>()[i] = rng.below(info.num_classes);
  }
  batch.set("mask", ones({count, height, width}));
  batch.set("boxes", boxes);
  batch.set("box_labels", labels);
  batch.set("box_count", full({count}, kObjects, {DType::i64, {}}));
}

Batch random_batch(const ModelInfo& info, std::int64_t count) {
  Batch batch;
  batch.images =
      rand_normal({count, info.in_chans, info.img_size[0], info.img_size[1]}, {0, 1}, {5});
  batch.labels = empty({count}, {DType::i64, {}});
  batch.indices = empty({count}, {DType::i64, {}});
  Rng rng(3);
  for (std::int64_t i = 0; i < count; ++i) {
    batch.labels.data<std::int64_t>()[i] = info.num_classes > 0 ? rng.below(info.num_classes) : 0;
    batch.indices.data<std::int64_t>()[i] = i;
  }
  if (info.task == TaskKind::detection) add_random_boxes(batch, info);
  if (info.task == TaskKind::depth) {
    batch.set("depth", rand_uniform({count, 1, info.img_size[0], info.img_size[1]}, {1, 9}, {6}));
  }
  return batch;
}

Tensor random_latents(const Vae& vae, const WorkloadSpec& spec) {
  const VaeConfig& c = vae.config();
  const std::int64_t height = c.img_size[0] / c.factor(), width = c.img_size[1] / c.factor();
  return rand_normal({spec.batch, c.latent_channels, height, width}, {0, 1}, {5},
                     {DType::f32, spec.device});
}

std::shared_ptr<const Dataset> open_photographs(const std::string& workload) {
  DatasetOptions options;
  if (const auto folder = photographs(); !folder.empty()) {
    options.name = workload == "loader_pack" ? "pack" : "folder";
    options.data_dir = folder / (workload == "loader_pack" ? "pack" : "jpeg");
    options.index_cache = "none";
  } else {
    options.fraction = 0.01;  // of the 20000 built-in pictures
  }
  return open_dataset(options, Split::train);
}

/// timm's pipeline for DeiT's recipe.
Pipeline deit_pipeline() {
  AugmentOptions options;
  options.size = {224, 224};
  options.normalization = kImageNetNormalization;
  options.crop = TrainCrop::resized;
  options.policy = "rand-m9-mstd0.5-inc1";
  options.erase.probability = 0.25;
  return training_pipeline(options);
}

/// Loads every image once; the loader stops at the end, so that no worker disturbs other timings.
void load_epoch(const std::shared_ptr<const Dataset>& dataset, const WorkloadSpec& spec,
                std::int64_t epoch) {
  LoaderOptions options;
  options.batch_size = spec.batch;
  options.rows.raw = spec.id == "loader_raw";
  options.workers = num_threads();
  options.epoch.endless = options.epoch.drop_last = false;
  Loader loader(dataset, deit_pipeline(), options, {epoch, 0});
  while (loader.has_next()) (void)loader.next();
}

}  // namespace

const std::vector<WorkloadSpec>& standard_workloads() {
  static const std::vector<WorkloadSpec> all = {
      {"vit_tiny_patch4_32", "train", "f32", 128},
      {"vit_tiny_patch4_32", "infer", "f32", 128},
      {"deit_tiny_patch16_224", "train", "f32", 32},
      {"deit_tiny_patch16_224", "infer", "f32", 32},
      {"cpvt_tiny_peg0_224", "train", "f32", 32},
      {"cpvt_tiny_peg0_224", "infer", "f32", 32},
      {"pervit_tiny_224", "train", "f32", 32},
      {"pervit_tiny_224", "infer", "f32", 32},
      {"pit_tiny_32", "train", "f32", 16},
      {"pit_tiny_32", "infer", "f32", 16},
      {"mae_vit_base_patch16", "train", "f32", 8},
      {"mae_vit_base_patch16", "infer", "f32", 8},
      {"mae_pit_tiny_32", "train", "f32", 8},
      {"mae_pit_tiny_32", "infer", "f32", 8},
      {"depth_pit_small_48x64", "train", "f32", 1},
      {"depth_pit_small_48x64", "infer", "f32", 1},
      {"dit_s_2", "train", "f32", 8},
      {"dit_s_2", "infer", "f32", 8},
      {"vae_f8", "decode", "f32", 1},
      {"detr_resnet50_480x640", "train", "f32", 2},
      {"detr_resnet50_480x640", "infer", "f32", 2},
      {"loader", "load", "f32", 32},
      {"loader_pack", "load", "f32", 32},
      {"loader_raw", "load", "f32", 32},
  };
  return all;
}

struct Workload::State {
  WorkloadSpec spec;
  std::unique_ptr<Model> model;
  std::unique_ptr<const Task> task;
  std::unique_ptr<Optimizer> optimizer;
  Shards shards;
  std::unique_ptr<ShardSums> sums;  ///< null with one shard
  std::shared_ptr<const Dataset> dataset;
  std::int64_t epoch = 0;
  std::unique_ptr<RepeatedTraining> training;    ///< of a workload that repeats its steps
  std::unique_ptr<RepeatedInference> inference;  ///< the same
  Batch batch;                                   ///< on the device, except the task's random draws
  Tensor latents;                                ///< of a workload that decodes
  Context context;
  double flop = 0;                       ///< of the last step
  std::vector<LayerProduct> products{};  ///< of product_rate()

  [[nodiscard]] bool repeats() const;
  [[nodiscard]] Batch drawn() const;
  void train();
  void train_repeated();
  void train_by_op();
  void train_shard(std::int64_t shard);
  [[nodiscard]] Tensor loss();
  void infer();
  [[nodiscard]] Tensor output(const Tensor& input);
};

Workload::Workload(const WorkloadSpec& spec, Communicator& processes, std::int64_t shards)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.spec = spec;
  if (spec.mode == "load") {
    s.dataset = open_photographs(spec.id);
    return;
  }
  s.model = make_subject(spec);
  s.task = plain_task(*s.model);
  const std::int64_t count = shards == 0 ? processes.size() : shards;
  s.shards = shards_of(count, processes.rank(), processes.size());
  if (count > 1) {
    s.sums = std::make_unique<ShardSums>(s.model->store(), processes, s.shards,
                                         shards == 0 ? Summing::all_reduce : Summing::tree);
  }
  s.batch = random_batch(s.model->info(), spec.batch / count).uploaded(spec.device);
  s.context.training = spec.mode == "train";
  if (!s.context.training) s.model->store().keep_single_copies();
  if (spec.mode == "decode") s.latents = random_latents(model_as<Vae>(*s.model), spec);
  s.context.activations = spec.dtype();
}

Workload::~Workload() = default;

/// As runs and evaluations do on a GPU. These run detectors and decoders op by op.
bool Workload::State::repeats() const {
  return spec.device.is_cuda() && spec.graph && !sums && spec.mode != "decode" &&
         model->info().task != TaskKind::detection;
}

/// The batch, with the task's random draws of this step.
Batch Workload::State::drawn() const {
  const BatchPlace place{.step = static_cast<std::int64_t>(context.step)};
  return task->prepare(batch, place).uploaded(spec.device);
}

/// The first step creates the optimizer, so its moments count as memory of the step, as in PyTorch.
void Workload::State::train() {
  repeats() ? train_repeated() : train_by_op();
  ++context.step;
}

void Workload::State::train_repeated() {
  if (!training) {
    training = std::make_unique<RepeatedTraining>(*model, plain_task(*model), context.activations);
  }
  flop = training->step(drawn(), kRate);
}

void Workload::State::train_by_op() {
  flop = 0;
  if (!optimizer) optimizer = std::make_unique<Optimizer>(model->store(), OptimizerOptions{});
  model->store().zero_grad();
  if (sums) sums->begin();
  for (std::int64_t shard = shards.first; shard < shards.end; ++shard) train_shard(shard);
  if (sums) sums->finish();
  optimizer->step(kRate);
}

Tensor Workload::State::loss() {
  const Batch with_draws = drawn();
  const ForwardProducts counting(flop);
  return task->loss(with_draws, context).total;
}

/// Forward and backward passes of a shard; the last one's gradients leave as they are completed.
void Workload::State::train_shard(std::int64_t shard) {
  const Tensor root = loss();
  const BackwardProducts counting(flop);
  {
    std::optional<OnCompleteGradient> sending;
    if (sums && shard + 1 == shards.end)
      sending.emplace([this](const Tensor& parameter) { sums->complete(parameter); });
    backward(root);
  }
  model->finish_backward();
  if (sums) sums->take(shard);
}

Tensor Workload::State::output(const Tensor& input) {
  return latents.defined() ? model_as<Vae>(*model).decode(input, context)
                           : model->probe(input, context);
}

void Workload::State::infer() {
  const NoGrad no_grad;
  const Tensor& input = latents.defined() ? latents : batch.images;
  if (repeats()) {
    if (!inference) inference = std::make_unique<RepeatedInference>(spec.device);
    flop = inference->step(input, [this](const Tensor& images) { return output(images); });
    return;
  }
  flop = 0;
  const ForwardProducts counting(flop);
  (void)output(input);
}

void Workload::step() {
  State& s = *state_;
  if (s.dataset) {
    load_epoch(s.dataset, s.spec, s.epoch++);
  } else if (s.context.training) {
    s.train();
  } else {
    s.infer();
  }
  wait_for(s.spec.device);
}

int Workload::warm_up() const {
  constexpr int kByOp = 2;  // what a step keeps for the next ones is there
  return state_->model && state_->repeats() ? kStepsBeforeRepetition : kByOp;
}

std::int64_t Workload::images() const {
  return state_->dataset ? state_->dataset->size() : state_->spec.batch;
}

std::int64_t Workload::parameters() const {
  return state_->model ? state_->model->store().parameter_count() : 0;
}

double Workload::flop() const { return state_->flop; }

double Workload::product_rate() const {
  State& s = *state_;
  if (!s.model) return 0;
  if (s.products.empty()) s.products = largest_products(*s.model, s.spec.batch);
  return measured_product_rate(s.products, s.context.activations, s.spec.device);
}

double measure_peak_mb(const WorkloadSpec& spec) {
  Workload workload(spec);
  if (!spec.device.is_cpu()) {
    const std::int64_t before = memory_stats(spec.device).current_bytes;
    reset_peak_memory(spec.device);
    for (int i = 0; i < workload.warm_up() + 1; ++i) workload.step();
    return static_cast<double>(memory_stats(spec.device).peak_bytes - before) / (1 << 20);
  }
  forget_peak();
  const double before = resident_mb("VmRSS");
  for (int i = 0; i < workload.warm_up() + 1; ++i) workload.step();
  return resident_mb("VmHWM") - before;
}

double measure_gemm_gflops(std::int64_t n, TensorOptions options) {
  const Tensor a = rand_normal({n, n}, {0, 1}, {1}, options);
  const Tensor b = rand_normal({n, n}, {0, 1}, {2}, options);
  wait_for(options.device);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    (void)ops::matmul(a, b);
    wait_for(options.device);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return 2e-9 * static_cast<double>(n * n * n) / best;
}

}  // namespace fovea::bench
