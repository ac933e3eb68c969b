// Raw pixels of a batch as the model's input.
#pragma once

#include "data/loading/batch.h"

namespace fovea {

/// The batch with values in place of raw pixels, computed on the device where they are; otherwise
/// the batch itself.
[[nodiscard]] Batch finished(Batch batch);

}  // namespace fovea
