// What happens to a sample between the data set and the batch. Random steps draw from the Rng they
// are given, so a result is a function of (sample, rng).
#pragma once

#include <functional>
#include <vector>

#include "data/geometry.h"
#include "data/sample.h"
#include "data/transforms.h"
#include "engine/rng.h"

namespace fovea {

/// The steps that make a sample ready for a batch, in order.
struct Pipeline {
  using Step = std::function<Sample(Sample sample, Rng& rng)>;

  /// The part of the image that the steps begin with; empty: the whole one. Asked first, so that a
  /// source need decode no more than that.
  std::function<PixelBox(ImageSize size, Rng& rng)> choose_box;
  std::vector<Step> steps;       ///< what part of the image is seen, and which way round
  std::vector<Step> variations;  ///< after them, what it looks like: policy and colours
  Normalization normalization = kCifarNormalization;
  /// Works on the normalised values f32 [3, height, width], last; empty: nothing. Throws for
  /// images of other than three channels.
  std::function<void(float* values, ImageSize size, Rng& rng)> finish;

  [[nodiscard]] Sample place(Sample sample, Rng& rng) const;  ///< `steps` alone
  [[nodiscard]] Sample vary(Sample sample, Rng& rng) const;   ///< `variations` alone
  [[nodiscard]] Sample apply(Sample sample, Rng& rng) const;  ///< both
};

/// A step that changes colours: what lies in the image stays as it is.
[[nodiscard]] Pipeline::Step color_step(std::function<Image(Image image, Rng& rng)> change);

/// A step that moves pixels, and boxes and dense maps with them: `draw` says how, for an image of
/// this size, one move after another.
[[nodiscard]] Pipeline::Step geometry_step(
    std::function<std::vector<Geometry>(ImageSize size, Rng& rng)> draw);

/// A step that is taken with the given probability.
[[nodiscard]] Pipeline::Step sometimes(double probability, Pipeline::Step step);

}  // namespace fovea
