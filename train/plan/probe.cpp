// A trial model and step, fed with training images by the run's own loader.
#include "train/plan/probe.h"

#include <algorithm>
#include <utility>

#include "engine/autograd.h"
#include "train/loop/trainer_options.h"
#include "train/start/initial_weights.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

class SameBatch : public BatchSource {
 public:
  explicit SameBatch(Batch batch) : batch_(std::move(batch)) {}
  [[nodiscard]] Batch next() override { return batch_; }

 private:
  Batch batch_;
};

}  // namespace

Probe::Probe(TrainConfig config, Datasets data)
    : config_(std::move(config)), data_(std::move(data)) {
  Notices notices;
  model_ = build_model(config_, *data_.train, notices);
  if (config_.request.resume.empty())  // throws early if files are missing
    set_initial_weights(config_.weights, {config_.run, data_.train->class_names()}, *model_,
                        notices);
  start_step(/*records=*/false);
}

void Probe::start_step(bool records) {
  StepOptions options = step_options(config_);
  options.graph = records;
  step_.reset();
  step_ = std::make_unique<TrainStep>(options, config_.run, *model_,
                                      make_task(config_, *model_, data_.train.get()));
}

ImageSize Probe::own_size() const { return step_->task().image_size(*model_); }

ImageSize Probe::largest_size() const {
  ImageSize size = own_size();
  for (const std::int64_t side : config_.sizes.sides) {
    size.height = std::max(size.height, side);
    size.width = std::max(size.width, side);
  }
  return size;
}

TrainingImages Probe::images() const {
  TrainingImages images = training_images(config_);
  images.loader.rows.raw = takes_raw_pixels(step_->task(), *model_);
  return images;
}

Batch Probe::first_samples(std::int64_t samples) const {
  TrainingImages images = this->images();
  images.loader.batch_size = std::min(samples, data_.train->size());
  images.loader.workers = 0;
  const auto loader = training_loader(images, data_.train, largest_size());
  return loader->next().repeated(samples * images.loader.rows.splits);
}

PrepareBatch Probe::preparation() const {
  return [&task = step_->task()](Batch batch, BatchPart at) {
    const std::int64_t batches = at.cursor.batch;
    return task.prepare(std::move(batch), {batches, batches, 0});
  };
}

void Probe::run(BatchSource& source, std::int64_t batches) {
  step_->run(source, batches, 0, progress_);
  step_->read_back(progress_);
}

bool Probe::records() const { return model_->device().is_cuda() && step_options(config_).graph; }

std::int64_t Probe::sample_bytes_of_step() const {
  if (!step_->keeps_batches()) return 0;
  const std::int64_t samples = task().batch_multiple;
  const Batch batch = preparation()(first_samples(samples), {}).uploaded(model_->device());
  std::int64_t bytes = 0;
  static_cast<void>(with_values(batch).mapped([&](const Tensor& value, bool /*uploads*/) {
    if (value.device().is_cuda()) bytes += value.byte_count();
    return value;
  }));
  const std::int64_t copies = records() ? 2 : 1;  // the second one is in a recording's places
  return copies * bytes / samples;
}

/// On a GPU the second of two like steps begins a recording, unless the run has none.
std::int64_t Probe::peak_of(std::int64_t samples) {
  const Device device = model_->device();
  if (records()) start_step(true);
  SameBatch same(preparation()(first_samples(samples), {}));
  run(same, 1);  // creates workspaces and converted weights, which are kept
  model_->store().zero_grad();
  release_cached_memory(device);  // waits, since a batch being copied is not yet free
  reset_peak_memory(device);
  const std::int64_t before = memory_stats(device).current_bytes;
  run(same, 1);
  const std::int64_t peak = memory_stats(device).peak_bytes - before;
  if (records()) start_step(false);
  return peak;
}

}  // namespace fovea
