// The work of `encode`: from the images of a data set to a file of their latents.
#pragma once

#include <memory>

#include "apps/encode_request.h"
#include "data/dataset.h"
#include "engine/comm/communicator.h"
#include "models/checkpoints/vae_file.h"

namespace fovea {

/// Writes request.output, or continues it. All processes call it; the first one writes the file and
/// prints. Returns false if a signal has stopped it: the next call continues. Throws at too many
/// broken images.
[[nodiscard]] bool encode_images(const EncodeRequest& request, const LoadedVae& vae,
                                 const std::shared_ptr<const Dataset>& images,
                                 Communicator& processes);

}  // namespace fovea
