// Creates the loader with the training pipeline.
#include "data/loading/training_images.h"

#include <utility>

namespace fovea {

std::unique_ptr<Loader> training_loader(TrainingImages images,
                                        const std::shared_ptr<const Dataset>& dataset,
                                        ImageSize size, Cursor start, PrepareBatch prepare) {
  images.augment.size = size;
  if (images.shrink_large) images.loader.rows.shrink_to = size;
  return std::make_unique<Loader>(dataset, training_pipeline(images.augment), images.loader, start,
                                  std::move(prepare));
}

}  // namespace fovea
