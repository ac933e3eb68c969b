// The processing of a sample between data set and batch. Random steps draw from the given Rng, so
// the result is a pure function of (sample, rng).
#pragma once

#include <functional>
#include <vector>

#include "data/augment/erase.h"
#include "data/geometry/geometry.h"
#include "data/geometry/transforms.h"
#include "data/sample.h"
#include "engine/rng.h"

namespace fovea {

/// The steps that turn a sample into batch input, in order.
struct Pipeline {
  using Step = std::function<Sample(Sample sample, Rng& rng)>;

  /// The part of the image on which the steps operate; empty: the whole image. Called first, so
  /// that a source can decode only that part.
  std::function<PixelBox(ImageSize size, Rng& rng)> choose_box;
  std::vector<Step> steps;       ///< geometry: visible part and orientation
  std::vector<Step> variations;  ///< appearance, applied afterwards: policy and colours
  Normalization normalization = kCifarNormalization;
  /// The boxes that are erased last, from the normalised values of three channels; empty: none.
  std::function<std::vector<Erasure>(ImageSize size, Rng& rng)> draw_erasures;

  [[nodiscard]] Sample place(Sample sample, Rng& rng) const;  ///< `steps` only
  [[nodiscard]] Sample vary(Sample sample, Rng& rng) const;   ///< `variations` only
  [[nodiscard]] Sample apply(Sample sample, Rng& rng) const;  ///< both, in order
};

/// A step that changes colours and leaves the targets unchanged.
[[nodiscard]] Pipeline::Step color_step(std::function<Image(Image image, Rng& rng)> change);

/// A step that moves pixels together with boxes and dense maps. `draw` returns the sequence of
/// moves for an image of this size.
[[nodiscard]] Pipeline::Step geometry_step(
    std::function<std::vector<Geometry>(ImageSize size, Rng& rng)> draw);

/// A step that is applied with the given probability.
[[nodiscard]] Pipeline::Step sometimes(double probability, Pipeline::Step step);

}  // namespace fovea
