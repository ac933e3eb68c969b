// Batches of the same pictures with values and with raw pixels.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "data/augment/mixup.h"
#include "data/augment/training_pipeline.h"
#include "data/loading/loader.h"
#include "data/sources/drawn/builtin.h"

namespace fovea::tests {

/// Crops of the built-in pictures, flipped and recoloured; a third of them, or all, are erased.
inline AugmentOptions erasing(EraseFill fill, ImageSize size, double probability = 0.3) {
  AugmentOptions options;
  options.crop = TrainCrop::resized;
  options.size = size;
  options.normalization = kImageNetNormalization;
  options.jitter.brightness = 0.4;
  options.erase = {.probability = probability, .fill = fill, .count = 3};
  return options;
}

struct TwoBatches {
  Batch values, raw;
};

/// The first batch of a loader with these options, and that of one that leaves pixels raw.
inline TwoBatches two_batches(const AugmentOptions& augment, LoaderOptions options) {
  const auto images =
      std::make_shared<Builtin>(Split::train, BuiltinOptions{.seed = 3, .train_size = 24});
  const auto first = [&](bool raw) {
    options.rows.raw = raw;
    return Loader(images, training_pipeline(augment), options).next();
  };
  return {first(false), first(true)};
}

/// Both mixed with the same draws.
inline TwoBatches mixed(TwoBatches batches, const MixOptions& options) {
  Rng first(4), second(4);
  return {mix(std::move(batches.values), options, first),
          mix(std::move(batches.raw), options, second)};
}

/// Ways of mixing in turn, so that few batches have all of them.
inline MixOptions mixing(std::size_t turn) {
  MixOptions options{.probability = 0.8};
  options.mode = std::to_array({MixMode::element, MixMode::pair, MixMode::batch})[turn % 3];
  if (turn % 2 == 1) options.cutmix_minmax = std::array<double, 2>{0.2, 0.8};
  return options;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.contiguous().raw(), b.contiguous().raw(),
                     static_cast<std::size_t>(a.byte_count())) == 0;
}

}  // namespace fovea::tests
