// Counting. Evaluation is small beside the forward pass, so this is plain host code.
#include "train/metrics.h"

#include <cmath>

#include "engine/autograd.h"
#include "engine/check.h"

namespace fovea {
namespace {

/// Row-major logits in f32 or f64 on the CPU, as f64.
std::vector<double> rows_of(const Tensor& logits, const Tensor& labels) {
  check(logits.rank() == 2 && labels.rank() == 1 && logits.size(0) == labels.size(0),
        "metrics: got logits ", logits.shape(), " and labels ", labels.shape(),
        ", expected [B, K] and [B]");
  const NoGrad no_grad;
  return logits.detach().to(Device{}).to_vector();
}

}  // namespace

std::vector<std::int64_t> label_ranks(const Tensor& logits, const Tensor& labels) {
  const std::vector<double> values = rows_of(logits, labels);
  const std::int64_t classes = logits.size(1);
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(logits.size(0)));
  for (std::size_t b = 0; b < ranks.size(); ++b) {
    const double* const row = values.data() + static_cast<std::int64_t>(b) * classes;
    const auto label = static_cast<std::int64_t>(labels.at(static_cast<std::int64_t>(b)));
    check(label >= 0 && label < classes, "metrics: got label ", label, ", expected 0 to ",
          classes - 1);
    bool bad = false;
    for (std::int64_t k = 0; k < classes; ++k) {
      bad = bad || std::isnan(row[k]);
      if (row[k] > row[label] || (row[k] == row[label] && k < label)) ++ranks[b];
    }
    if (bad) ranks[b] = classes;
  }
  return ranks;
}

void add_hits(Metrics& metrics, const Tensor& logits, const Tensor& labels) {
  for (const std::int64_t rank : label_ranks(logits, labels)) {
    if (rank < 1) ++metrics.correct1;
    if (rank < 5) ++metrics.correct5;
  }
}

void ConfusionMatrix::add(const Tensor& logits, const Tensor& labels) {
  const std::vector<double> values = rows_of(logits, labels);
  check(logits.size(1) == classes_, "ConfusionMatrix: got ", logits.size(1), " logits, expected ",
        classes_);
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    const double* const row = values.data() + b * classes_;
    std::int64_t prediction = 0;
    for (std::int64_t k = 1; k < classes_; ++k) {
      if (row[k] > row[prediction]) prediction = k;
    }
    const auto label = static_cast<std::int64_t>(labels.at(b));
    check(label >= 0 && label < classes_, "ConfusionMatrix: got label ", label, ", expected 0 to ",
          classes_ - 1);
    ++counts_[static_cast<std::size_t>(label * classes_ + prediction)];
  }
}

std::int64_t ConfusionMatrix::label_total(std::int64_t label) const {
  std::int64_t total = 0;
  for (std::int64_t k = 0; k < classes_; ++k) total += count(label, k);
  return total;
}

std::int64_t ConfusionMatrix::prediction_total(std::int64_t prediction) const {
  std::int64_t total = 0;
  for (std::int64_t k = 0; k < classes_; ++k) total += count(k, prediction);
  return total;
}

}  // namespace fovea
