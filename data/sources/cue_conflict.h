// Pictures whose shape is of one category and whose texture is of another: which of the two does a
// model go by? Geirhos et al., "ImageNet-trained CNNs are biased towards texture" (2019).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea {

struct CueConflict {
  std::shared_ptr<const Dataset> images;  ///< a label is the category of the shape
  std::vector<std::int64_t> textures;     ///< of each image: the category of its texture

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(textures.size()); }
};

/// The pictures <folder>/<shape>/<shape>N-<texture>M.<ending>, where shape and texture are names of
/// categories, which do not end in a digit, and N and M numbers, in the order of their paths. Those
/// whose shape and texture agree are left out, which the notice says. Throws on pictures with other
/// names, and where a category has no picture.
[[nodiscard]] CueConflict open_cue_conflict(const std::filesystem::path& folder,
                                            const std::vector<std::string>& categories);

/// 1,200 drawn pictures, each a pure function of (seed, index): the silhouette of a shape of the
/// built-in set (disc to star), filled with one of its patterns (stripes and checkerboard) and
/// placed on a plain ground, in three colours that can be told apart. Shapes are as large as in
/// that set, patterns as its finer ones. Throws where the categories lack one of its classes.
[[nodiscard]] CueConflict draw_cue_conflict(const std::vector<std::string>& categories,
                                            std::uint64_t seed = 0);

}  // namespace fovea
