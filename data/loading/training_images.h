// The training images, and their preprocessing.
#pragma once

#include <memory>

#include "data/augment/training_pipeline.h"
#include "data/loading/loader.h"

namespace fovea {

struct TrainingImages {
  LoaderOptions loader{};
  AugmentOptions augment{};  ///< its size is the requested image size
  /// Whether large JPEGs may be decoded at reduced size (DecodeOptions::shrink_to).
  bool shrink_large = false;
};

/// A loader of batches of images of `size`, starting at `start`; `prepare` is optional.
[[nodiscard]] std::unique_ptr<Loader> training_loader(TrainingImages images,
                                                      const std::shared_ptr<const Dataset>& dataset,
                                                      ImageSize size, Cursor start = {},
                                                      PrepareBatch prepare = {});

}  // namespace fovea
