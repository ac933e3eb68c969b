// Loss and accuracy of a classifier, weighted by samples and not by batches. Logits and labels are
// on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// Sums over the samples seen so far.
struct Metrics {
  double loss_sum = 0;  ///< sum of per-sample losses
  std::int64_t samples = 0, correct1 = 0, correct5 = 0;

  void add_loss(double mean_loss, std::int64_t count) {
    loss_sum += mean_loss * static_cast<double>(count);
    samples += count;
  }
  /// All sums as numbers, and back.
  static constexpr std::size_t kNumbers = 4;
  [[nodiscard]] std::vector<double> to_vector() const {
    return {loss_sum, static_cast<double>(samples), static_cast<double>(correct1),
            static_cast<double>(correct5)};
  }
  [[nodiscard]] static Metrics from(const std::vector<double>& numbers) {
    return {numbers[0], static_cast<std::int64_t>(numbers[1]),
            static_cast<std::int64_t>(numbers[2]), static_cast<std::int64_t>(numbers[3])};
  }
  [[nodiscard]] double loss() const { return ratio(loss_sum); }
  [[nodiscard]] double top1() const { return 100 * ratio(static_cast<double>(correct1)); }  ///< %
  [[nodiscard]] double top5() const { return 100 * ratio(static_cast<double>(correct5)); }  ///< %
  friend bool operator==(const Metrics&, const Metrics&) = default;

 private:
  [[nodiscard]] double ratio(double sum) const {
    return samples == 0 ? 0 : sum / static_cast<double>(samples);
  }
};

/// For each row of logits [B, K] (any float dtype), the number of classes ranked above the label: 0
/// is a top-1 hit, below 5 a top-5 hit. Among equal logits the lower class ranks higher; a row with
/// a NaN counts as K.
[[nodiscard]] std::vector<std::int64_t> label_ranks(const Tensor& logits, const Tensor& labels);

/// Adds the hits of one batch, not its loss.
void add_hits(Metrics& metrics, const Tensor& logits, const Tensor& labels);

/// The model's top-1 prediction for one image and its confidence.
struct Prediction {
  std::int64_t index = 0;  ///< index of the image in its data set
  std::int64_t label = 0, prediction = 0;
  double confidence = 0;  ///< softmax probability of `prediction`, in [0, 1]

  [[nodiscard]] bool is_right() const { return label == prediction; }
};

/// Adds each row's first maximum with its softmax probability, NaN if a logit is not finite.
/// `indices` i64 [B] are the images' places in their data set.
void add_predictions(std::vector<Prediction>& predictions, const Tensor& logits,
                     const Tensor& labels, const Tensor& indices);

}  // namespace fovea
