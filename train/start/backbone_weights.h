// The weights of a detector's backbone, from a file of the backbone alone.
#pragma once

#include <string>

#include "base/notices.h"
#include "models/model.h"

namespace fovea {

/// Copies the weights of a backbone into a detector: of torchvision's ResNet without its
/// classifier, or of the vision transformer that the detector's configuration names, with position
/// tables resized to its grid. `file` is a run, a hub folder or a weights file. Throws Error if
/// tensors are missing or have other shapes, naming the first.
void load_backbone(Model& detector, const std::string& file, Notices& notices);

}  // namespace fovea
