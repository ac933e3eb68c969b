// Mixing is drawn for each batch by its place in the run.
#include "train/classification.h"

#include <utility>

namespace fovea {
namespace {

constexpr std::uint64_t kMixStream = 0x6D6978;  // "mix"

}  // namespace

Classification::Classification(const ClassificationOptions& options, const ModelInfo& model,
                               std::int64_t samples)
    : options_(options), objective_(options.objective, model, samples) {}

Batch Classification::prepare(Batch batch, const BatchPlace& place) const {
  const bool in_time = options_.mix_epochs == 0 || place.epoch < options_.mix_epochs;
  if (!options_.mix || !in_time) return batch;
  Rng rng(options_.seed, stream_of(kMixStream, static_cast<std::uint64_t>(place.forward)));
  MixedBatch mixed = mix(batch, *options_.mix, rng);
  batch.images = std::move(mixed.images);
  batch.targets = std::move(mixed.targets);
  return batch;
}

Tensor Classification::loss(Model& model, const Batch& batch, Context& ctx) const {
  const ModelOutput output = model.forward(batch.images, ctx);
  return objective_(output, {batch.labels, batch.targets, batch.indices}, batch.images);
}

bool Classification::is_unused(const Parameter& parameter) const {
  return objective_.is_unused(parameter);
}

}  // namespace fovea
