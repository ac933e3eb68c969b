// Losses of class logits other than cross-entropy.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/tensor.h"

namespace fovea {

/// Targets of a batch.
struct Targets {
  Tensor labels;  ///< i64 [B]
  Tensor soft;    ///< [B, K], replaces labels for a mixed batch, smoothing included; or undefined
};

/// Binary cross-entropy per class, like timm's BinaryCrossEntropy.
struct BceOptions {
  std::optional<double> threshold{};   ///< targets above it become 1, others 0
  std::optional<double> pos_weight{};  ///< weight of the positive term
  bool sum_classes = false;            ///< sum over classes instead of mean; mean over the batch
  Tensor class_weights{};              ///< [K], weights of the classes' terms; or undefined
};
/// Scalar loss of logits [B, K]. Targets made from labels are smoothed.
[[nodiscard]] Tensor bce_loss(const Tensor& logits, const Targets& targets, double smoothing,
                              const BceOptions& options);

/// The targets t [B, K], smoothed if they are made from labels, times the weights w [K] of the
/// classes.
[[nodiscard]] Tensor weighted_targets(const Targets& targets, double smoothing,
                                      const Tensor& weights);
/// Scalar: sum_bk w_k t_bk (-log p_bk) / sum_bk w_k t_bk, of logits [B, K] and weighted targets.
/// For labels without smoothing it is the mean of the samples' losses weighted by their classes.
/// `whole` replaces the divisor.
[[nodiscard]] Tensor weighted_class_loss(const Tensor& logits, const Tensor& weighted,
                                         std::optional<double> whole = {});

/// Options of jsd_loss(), like timm's JsdCrossEntropy (Hendrycks et al. 2020, AugMix).
struct JsdOptions {
  std::int64_t splits = 3;  ///< consecutive rows per image, see RowOptions::splits
  double alpha = 12;        ///< weight of the divergence
};
/// Scalar: cross-entropy of each image's first row with its label, plus alpha times the
/// Jensen-Shannon divergence between the predictions for all its rows. logits [B, K], labels [B].
[[nodiscard]] Tensor jsd_loss(const Tensor& logits, const Tensor& labels, double smoothing,
                              const JsdOptions& options);

}  // namespace fovea
