// The loss of a detector that predicts a set: at each decoder layer every object is matched to one
// query, and matched queries learn its class and box (Carion et al. 2020, "DETR"; Zhu et al. 2021,
// "Deformable DETR").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/names.h"
#include "detection/matching.h"
#include "engine/tensor.h"

namespace fovea {

/// softmax: logits of K classes and, last, "no object"; weighted cross-entropy (DETR).
/// focal: logits of K independent classes; sigmoid focal loss (Deformable DETR).
enum class ClassLoss { softmax, focal };
template <>
inline constexpr auto kNames<ClassLoss> =
    std::to_array<Named<ClassLoss>>({{ClassLoss::softmax, "softmax"}, {ClassLoss::focal, "focal"}});

/// Weights of the class, L1 and GIoU terms, in the loss and in the matching cost alike.
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
};

/// Pairs by [layer][image].
using Matches = std::vector<std::vector<std::vector<Pair>>>;

struct SetLoss {
  Tensor total;  ///< weighted sum of all parts, a scalar
  Tensor parts;  ///< [L, 3]: class, L1, GIoU of each layer without their weights; not on the tape
  Matches matches;
};

/// logits [L, B, Q, C] and boxes [L, B, Q, 4] (cx, cy, w, h in [0, 1]) of L decoder layers;
/// targets: one entry per image. With n = max(1, number of objects in the batch), per layer:
///   class   softmax: sum of w (-log p) over all queries / sum of w, where w is eos_coef for "no
///           object" and 1 otherwise; focal: sum / n
///   L1      sum over pairs of |box - target|, all four numbers, / n
///   GIoU    sum over pairs of 1 - GIoU, / n
/// Each layer is matched anew, or all take `given`. bf16 is computed in f32. Throws for labels that
/// are no class, boxes that are not finite, and predictions that are not finite.
[[nodiscard]] SetLoss set_loss(const Tensor& logits, const Tensor& boxes,
                               const std::vector<Objects>& targets, const SetLossOptions& options,
                               const Matches* given = nullptr);

/// What the matching of one image sees: logits [Q, C] and boxes [Q, 4], row-major.
struct Predictions {
  std::span<const double> logits, boxes;
  std::int64_t queries = 0, classes = 0;  ///< classes = C, with "no object"
};

/// The terms of the matching cost, each [Q, T] row-major for T objects.
struct MatchingCosts {
  std::vector<double> classes;  ///< softmax: -p(class); focal: see below
  std::vector<double> l1;       ///< |box - target|, summed over cx, cy, w, h
  std::vector<double> giou;     ///< GIoU; its cost is -GIoU
};
/// Focal class cost, with p = sigmoid(logit of the object's class):
/// 0.25 (1 - p)^2 (-log(p + 1e-8)) - 0.75 p^2 (-log(1 - p + 1e-8)).
[[nodiscard]] MatchingCosts matching_costs(const Predictions& predictions, const Objects& objects,
                                           ClassLoss class_loss);

/// The pairs of least class_weight class + box_weight l1 - giou_weight giou.
[[nodiscard]] std::vector<Pair> match_objects(const Predictions& predictions,
                                              const Objects& objects,
                                              const SetLossOptions& options);

}  // namespace fovea
