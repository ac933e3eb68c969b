// Where the labels of boxes stand, so that none covers another.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "data/figures/svg.h"

namespace fovea {

/// A box and the width of its label; 0: none.
struct LabelledFrame {
  SvgBox frame;
  double label_width = 0;
};

/// For each frame the place of its label, `height` high and within a picture of that size: at one
/// of the frame's edges if there is room, else above or below. The first frames choose first; where
/// no room is left, a label gets no place.
[[nodiscard]] std::vector<std::optional<SvgBox>> label_places(std::span<const LabelledFrame> frames,
                                                              double height, const SvgBox& picture);

}  // namespace fovea
