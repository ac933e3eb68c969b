// Names in which weights of timm's class Eva and of plain ViTs differ.
#pragma once

#include "engine/formats/weights_file.h"
#include "models/model.h"

namespace fovea {

/// The tensors under the names of the model's blocks. Layer scales are ls1.gamma and ls2.gamma in
/// plain ViTs, gamma_1 and gamma_2 in timm's class Eva. Biases of queries and values that are zero
/// are left out if the model has none: DINOv3's distilled models have such.
[[nodiscard]] TensorMap with_names_of(const Model& model, TensorMap tensors);

}  // namespace fovea
