// Cue-conflict pictures, whose shape and texture belong to different categories, to measure shape
// bias. Geirhos et al., "ImageNet-trained CNNs are biased towards texture" (2019).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

struct CueConflict {
  std::shared_ptr<const Dataset> images;  ///< labelled with the category of the shape
  std::vector<std::int64_t> textures;     ///< for each image, the category of its texture

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(textures.size()); }
};

/// Opens the pictures <folder>/<shape>/<shape>N-<texture>M.<ending> in the order of their paths.
/// Shape and texture are category names, which do not end in a digit; N and M are numbers.
/// Pictures with equal shape and texture are skipped and counted in the notice. Throws on pictures
/// with other names, and when a category has no picture.
[[nodiscard]] CueConflict open_cue_conflict(const std::filesystem::path& folder,
                                            const std::vector<std::string>& categories);

/// 1,200 generated pictures, each a pure function of (seed, index): the silhouette of a shape of
/// the built-in set (disc to star), filled with one of its patterns (stripes and checkerboard) on
/// a plain background, in three distinguishable colours. Shapes have the sizes of that set,
/// patterns its finer ones. Throws if the categories lack one of its classes.
[[nodiscard]] CueConflict draw_cue_conflict(const std::vector<std::string>& categories,
                                            std::uint64_t seed = 0);

}  // namespace fovea
