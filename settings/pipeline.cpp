// Settings turned into pipelines.
#include "settings/pipeline.h"

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

TrainingImages training_images(const TrainConfig& config) {
  TrainingImages images;
  images.augment = augment_options(config);
  images.shrink_large = config.fast_decode;
  LoaderOptions& loader = images.loader;
  loader.batch_size = config.batch_size;
  loader.workers = static_cast<int>(config.workers);
  loader.seed = seed_of(config);
  loader.epoch.repeats = std::max<std::int64_t>(1, config.aug_repeats);
  loader.rows.splits = splits_of(config);
  if (config.resplit) loader.rows.unfinished_every = std::max<std::int64_t>(2, config.aug_splits);
  loader.epoch.shuffle_buffer = config.shuffle_buffer;
  loader.bad_images.then = OnBadImage::replace;
  loader.bad_images.limit = bad_image_limit(config);
  return images;
}

}  // namespace fovea
