// Loss and accuracy on the CPU. They cost little next to the forward pass, so this is plain host
// code.
#include "train/tasks/metrics.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

/// Row-major logits, f32 or f64 on the CPU, as f64.
std::vector<double> rows_of(const Tensor& logits) {
  const NoGrad no_grad;
  return logits.detach().to_vector();
}

std::vector<double> rows_of(const Tensor& logits, const Tensor& labels) {
  check(logits.rank() == 2 && labels.rank() == 1 && logits.size(0) == labels.size(0),
        "metrics: got logits ", logits.shape(), " and labels ", labels.shape(),
        ", expected [B, K] and [B]");
  return rows_of(logits);
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

void add_predictions(std::vector<Prediction>& predictions, const Tensor& logits,
                     const Tensor& labels, const Tensor& indices) {
  const std::vector<double> values = rows_of(logits, labels);
  const std::int64_t classes = logits.size(1);
  check(indices.shape() == labels.shape(), "add_predictions: got indices ", indices.shape(),
        ", expected the shape of labels, ", labels.shape());
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    const double* const row = values.data() + b * classes;
    Prediction p;
    p.index = static_cast<std::int64_t>(indices.at(b));
    p.label = static_cast<std::int64_t>(labels.at(b));
    p.prediction = std::max_element(row, row + classes) - row;
    check(p.label >= 0 && p.label < classes, "add_predictions: got label ", p.label,
          ", expected 0 to ", classes - 1);
    double sum = 0;  // sum of exp(logit - largest), so the largest has probability 1 / sum
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(row[k] - row[p.prediction]);
    p.confidence = 1 / sum;
    predictions.push_back(p);
  }
}

}  // namespace fovea
