// What models are trained for.
#pragma once

namespace fovea {

enum class TaskKind { classification, masked_autoencoding };

}  // namespace fovea
