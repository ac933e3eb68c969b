// The loss of a detector that predicts a set: at each decoder layer every object is matched to one
// query, and matched queries learn its class and box (Carion et al. 2020, "DETR"; Zhu et al. 2021,
// "Deformable DETR").
#pragma once

#include <vector>

#include "models/detection/matching_costs.h"

namespace fovea {

/// Pairs by [layer][image].
using Matches = std::vector<std::vector<std::vector<MatchedPair>>>;

struct SetLoss {
  Tensor total;  ///< weighted sum of all parts, a scalar
  Tensor parts;  ///< [L, 3]: class, L1, GIoU of each layer without their weights; off the tape
  Matches matches;
};

/// What the terms of a layer divide by, if the images are a part of a batch: the objects, and for
/// the softmax the sum of w.
struct SetLossDivisors {
  double objects = 1, class_weights = 1;
};

/// logits [L, B, Q, C] and boxes [L, B, Q, 4] (cx, cy, w, h in [0, 1]) of L decoder layers;
/// targets: one entry per image. With n = max(1, number of objects in the batch), per layer:
///   class   softmax: sum of w (-log p) over all queries / sum of w, where w is eos_coef for "no
///           object" and 1 otherwise; focal: the sum over all queries and classes / n
///   L1      sum over pairs of |box - object's box|, all four numbers, / n
///   GIoU    sum over pairs of 1 - GIoU, / n
/// or by what `divisors` says. Each layer is matched anew, unless pairs are `given`. bf16 is
/// computed in f32. Throws for labels that are no class, and for boxes of objects that are not
/// finite or empty.
[[nodiscard]] SetLoss set_loss(const Tensor& logits, const Tensor& boxes,
                               const std::vector<Objects>& targets, const SetLossOptions& options,
                               const Matches* given = nullptr,
                               const SetLossDivisors* divisors = nullptr);

}  // namespace fovea
