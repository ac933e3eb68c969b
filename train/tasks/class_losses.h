// Losses of class logits beside cross-entropy.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/tensor.h"

namespace fovea {

/// What a batch should be taken for.
struct Targets {
  Tensor labels;     ///< i64 [B]
  Tensor soft;       ///< [B, K] instead, of a mixed batch; smoothing is inside; or undefined
  Tensor indices{};  ///< i64 [B], of the samples in their data set; only stored logits ask for it
};

/// Binary cross-entropy per class, as timm's BinaryCrossEntropy.
struct BceOptions {
  double smoothing = 0;                ///< of targets that are made from labels
  std::optional<double> threshold{};   ///< targets above it become 1, others 0
  std::optional<double> pos_weight{};  ///< of the part that pulls towards 1
  bool sum_classes = false;            ///< summed over the classes, mean over the batch
};
/// A scalar. logits [B, K].
[[nodiscard]] Tensor bce_loss(const Tensor& logits, const Targets& targets,
                              const BceOptions& options);

/// As timm's JsdCrossEntropy (Hendrycks et al. 2020, AugMix).
struct JsdOptions {
  std::int64_t splits = 3;  ///< rows of each image, one after another: RowOptions::splits
  double smoothing = 0;     ///< of the labels
  double alpha = 12;        ///< weight of the divergence
};
/// A scalar: of each image's first row the cross-entropy with its label, and alpha times the
/// Jensen-Shannon divergence between the predictions for all its rows. logits [B, K], labels [B].
[[nodiscard]] Tensor jsd_loss(const Tensor& logits, const Tensor& labels,
                              const JsdOptions& options);

}  // namespace fovea
