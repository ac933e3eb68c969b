// The images of training: which ones, and what is done to them.
#pragma once

#include <memory>

#include "data/augment/training_pipeline.h"
#include "data/loading/loader.h"

namespace fovea {

struct TrainingImages {
  LoaderOptions loader{};
  AugmentOptions augment{};   ///< its size is that of the images that are asked for
  bool shrink_large = false;  ///< large JPEGs may be decoded smaller (DecodeOptions::shrink_to)
};

/// Batches of images of `size`, from `start` on, prepared where `prepare` is given.
[[nodiscard]] std::unique_ptr<Loader> training_loader(TrainingImages images,
                                                      const std::shared_ptr<const Dataset>& dataset,
                                                      ImageSize size, Cursor start = {},
                                                      PrepareBatch prepare = {});

}  // namespace fovea
