// Settings turned into pipelines.
#include "settings/pipeline.h"
#include "data/augment/pipeline.h"

#include <algorithm>

namespace fovea {

Normalization normalization_of(const TrainConfig& config) {
  Normalization normalization{};
  for (std::size_t c = 0; c < 3; ++c) {
    normalization.mean[c] = static_cast<float>(config.mean.at(c));
    normalization.deviation[c] = static_cast<float>(config.std.at(c));
  }
  return normalization;
}

std::uint64_t seed_of(const TrainConfig& config) { return static_cast<std::uint64_t>(config.seed); }

double bad_image_limit(const TrainConfig& config) {
  return config.on_bad_image == BadImages::skip ? 1 : 0.01;
}

std::unique_ptr<Loader> training_loader(const TrainConfig& config,
                                        const std::shared_ptr<const Dataset>& dataset,
                                        ImageSize size, Cursor start) {
  LoaderOptions options;
  options.batch_size = config.batch_size;
  options.workers = static_cast<int>(config.workers);
  options.seed = seed_of(config);
  options.repeats = std::max<std::int64_t>(1, config.aug_repeats);
  options.splits = splits_of(config);
  if (config.resplit) options.unfinished_every = std::max<std::int64_t>(2, config.aug_splits);
  options.shuffle_buffer = config.shuffle_buffer;
  if (config.fast_decode) options.shrink_to = size;
  options.on_bad_image = OnBadImage::replace;
  options.bad_image_limit = bad_image_limit(config);
  return std::make_unique<Loader>(dataset, training_pipeline(augment_options(config, size)),
                                  options, start);
}

}  // namespace fovea
