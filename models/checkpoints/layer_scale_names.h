// The two names of layer scales in timm's models.
#pragma once

#include "engine/formats/weights_file.h"
#include "models/model.h"

namespace fovea {

/// The tensors with the layer scales of blocks named as the model names them: plain ViTs have
/// ls1.gamma and ls2.gamma, timm's class Eva has gamma_1 and gamma_2.
[[nodiscard]] TensorMap with_layer_scales_of(const Model& model, TensorMap tensors);

}  // namespace fovea
