// Counting. Evaluation is small beside the forward pass, so this is plain host code.
#include "train/metrics.h"

#include <algorithm>
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

void add_predictions(std::vector<std::int64_t>& counts, const Tensor& logits,
                     const Tensor& labels) {
  const std::vector<double> values = rows_of(logits, labels);
  const std::int64_t classes = logits.size(1);
  check(static_cast<std::int64_t>(counts.size()) == classes * classes,
        "add_predictions: got room for ", counts.size(), " counts, expected ", classes * classes);
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    const double* const row = values.data() + b * classes;
    const std::int64_t prediction = std::max_element(row, row + classes) - row;
    const auto label = static_cast<std::int64_t>(labels.at(b));
    check(label >= 0 && label < classes, "add_predictions: got label ", label, ", expected 0 to ",
          classes - 1);
    ++counts[static_cast<std::size_t>(label * classes + prediction)];
  }
}

}  // namespace fovea
