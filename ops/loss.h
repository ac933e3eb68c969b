// Losses. Logits are [B, K]; the result is an f32 scalar for any dtype of the logits except f64,
// which gives f64. All softmaxes are computed in f32 or better. Targets, teachers and weights get
// no gradient; one that is on the tape throws.
#pragma once

#include "engine/base/names.h"
#include "engine/tensor.h"

namespace fovea::ops {

/// mean_b [(1 - s) (-log p_label) + s mean_k(-log p_k)] with s = smoothing; labels i64 [B] in
/// [0, K).
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                                   double smoothing = 0);
/// mean_b [-sum_k t_k log p_k], targets [B, K].
[[nodiscard]] Tensor soft_cross_entropy(const Tensor& logits, const Tensor& targets);
/// Mean over all elements of the binary cross-entropy of sigmoid(x) against t in [0, 1].
[[nodiscard]] Tensor bce_with_logits(const Tensor& x, const Tensor& targets);
/// Mean over all elements of (x - target)^2.
[[nodiscard]] Tensor mse(const Tensor& x, const Tensor& target);
/// Mean over all elements of |x - target|, with derivative 0 where they are equal.
[[nodiscard]] Tensor l1(const Tensor& x, const Tensor& target);

/// sum_b w_b (-log p_label) / sum_b w_b, where w_b = weights[label]: labels i64 [B] in [0, K),
/// weights [K], positive for at least one label.
[[nodiscard]] Tensor weighted_cross_entropy(const Tensor& logits, const Tensor& labels,
                                            const Tensor& weights);
/// Mean over all elements of a (1 - p)^2 (-log p) with p the probability that sigmoid(x) gives the
/// target, 0 or 1: sigmoid(x) or 1 - sigmoid(x), and a = alpha or 1 - alpha (Lin et al. 2017,
/// "Focal loss", with gamma 2). x and targets of any shape.
[[nodiscard]] Tensor sigmoid_focal_loss(const Tensor& x, const Tensor& targets, double alpha);

enum class KdReduction { elements, batch };  ///< divide by B K (DeiT's code) or by B (textbook)
/// tau^2 sum P_t (log P_t - log P_s) / n with P = softmax(. / tau).
[[nodiscard]] Tensor soft_distillation(const Tensor& student, const Tensor& teacher, double tau,
                                       KdReduction reduction = KdReduction::elements);
/// Cross-entropy against the teacher's argmax.
[[nodiscard]] Tensor hard_distillation(const Tensor& student, const Tensor& teacher);
/// sum P (log P - log Q) / B with P, Q given as log-probabilities.
[[nodiscard]] Tensor kl_div(const Tensor& log_q, const Tensor& log_p);

}  // namespace fovea::ops

namespace fovea {
template <>
inline constexpr auto kNames<ops::KdReduction> = std::to_array<Named<ops::KdReduction>>(
    {{ops::KdReduction::elements, "elements"}, {ops::KdReduction::batch, "batch"}});
}  // namespace fovea
