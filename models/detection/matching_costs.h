// What it costs to match a prediction of a detector to an object (Carion et al. 2020, "DETR",
// section 3.1; Zhu et al. 2021, "Deformable DETR").
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/names.h"
#include "engine/tensor.h"
#include "models/detection/matching.h"

namespace fovea {

/// softmax: logits of K classes and, last, "no object"; weighted cross-entropy (DETR).
/// focal: logits of K independent classes; sigmoid focal loss (Deformable DETR).
enum class ClassLoss { softmax, focal };
template <>
inline constexpr auto kNames<ClassLoss> =
    std::to_array<Named<ClassLoss>>({{ClassLoss::softmax, "softmax"}, {ClassLoss::focal, "focal"}});

/// The weights of the class, L1 and GIoU terms are those of the loss and of the matching cost.
struct SetLossOptions {
  ClassLoss class_loss = ClassLoss::softmax;
  double class_weight = 1;  ///< Deformable DETR: 2
  double box_weight = 5;
  double giou_weight = 2;
  double eos_coef = 0.1;      ///< softmax: weight of "no object" in the cross-entropy
  double focal_alpha = 0.25;  ///< focal: weight of the positive class, in the loss only
};

/// The objects of an image.
struct Objects {
  std::vector<std::int64_t> labels;
  std::vector<double> boxes;  ///< (cx, cy, w, h) of each, relative to the unpadded image

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
  /// f64 [T, 4].
  [[nodiscard]] Tensor box_tensor() const;
};

/// The predictions for an image on the CPU: logits [Q, C] and boxes [Q, 4] (cx, cy, w, h).
struct Predictions {
  Tensor logits, boxes;
};

/// The terms of the matching cost, each f64 [Q, T] for T >= 1 objects.
struct MatchingCosts {
  /// softmax: -p. focal, with p = sigmoid(logit):
  /// 0.25 (1 - p)^2 (-log(p + 1e-8)) - 0.75 p^2 (-log(1 - p + 1e-8)). p is that of the object's
  /// class.
  Tensor classes;
  Tensor l1;    ///< |box - object's box|, summed over cx, cy, w, h
  Tensor giou;  ///< the GIoU; its cost is -GIoU
};
[[nodiscard]] MatchingCosts matching_costs(const Predictions& predictions, const Objects& objects,
                                           ClassLoss class_loss);

/// The pairs of least class_weight classes + box_weight l1 - giou_weight giou. If a prediction is
/// not finite, objects are matched in their order, so that the loss is computed and is not finite.
[[nodiscard]] std::vector<MatchedPair> match_objects(const Predictions& predictions,
                                                     const Objects& objects,
                                                     const SetLossOptions& options);

}  // namespace fovea
