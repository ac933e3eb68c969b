// Initial weights of a detector's backbone.
#pragma once

#include "models/checkpoints/pretrained.h"
#include "models/detector.h"

namespace fovea {

/// Copies the weights at `path` (a file or a folder, see load_weights()) into the backbone. For a
/// residual network: torchvision's names (fc is left out), or a detector's file, of which the
/// backbone is taken. For a vision transformer: its own names, as in fine-tuning. Throws one Error
/// with everything that is missing, unexpected or mis-shaped.
LoadReport load_backbone(Detector& detector, const std::filesystem::path& path);

}  // namespace fovea
