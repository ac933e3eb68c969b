// Creates the loader with the training pipeline.
#include "data/loading/training_images.h"

#include <utility>

#include "data/sources/packed/latents.h"

namespace fovea {

std::unique_ptr<Loader> training_loader(TrainingImages images,
                                        const std::shared_ptr<const Dataset>& dataset,
                                        ImageSize size, Cursor start, PrepareBatch prepare) {
  images.augment.size = size;
  if (images.shrink_large) images.loader.rows.shrink_to = size;
  const LatentInfo* const latents = dataset->latents();
  if (latents != nullptr) images.loader.rows.raw = false;
  Pipeline pipeline = latents != nullptr ? latent_pipeline(*latents, images.augment.flip)
                                         : training_pipeline(images.augment);
  return std::make_unique<Loader>(dataset, std::move(pipeline), images.loader, start,
                                  std::move(prepare));
}

}  // namespace fovea
