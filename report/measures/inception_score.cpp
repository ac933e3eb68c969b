// The score from two sums: of p log p over all entries, and of p per class.
#include "report/measures/inception_score.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/error.h"

namespace fovea {
namespace {

double p_log_p(double p) { return p > 0 ? p * std::log(p) : 0; }

}  // namespace

void InceptionScore::add_row(const double* row, std::int64_t classes) {
  sums_.resize(static_cast<std::size_t>(classes));
  for (std::int64_t k = 0; k < classes; ++k) {
    entropy_ += p_log_p(row[k]);
    sums_[static_cast<std::size_t>(k)] += row[k];
  }
  if (++rows_ == split_) end_split();
}

void InceptionScore::add(const Tensor& probabilities) {
  check(probabilities.rank() == 2, "inception score: got shape ", probabilities.shape(),
        ", expected [N, K]");
  const std::vector<double> values = probabilities.to_vector();
  const std::int64_t classes = probabilities.size(1);
  for (std::int64_t i = 0; i < probabilities.size(0); ++i) {
    add_row(values.data() + i * classes, classes);
  }
}

void InceptionScore::add_logits(const Tensor& logits) {
  check(logits.rank() == 2, "inception score: got shape ", logits.shape(), ", expected [N, K]");
  std::vector<double> values = logits.to_vector();
  const std::int64_t classes = logits.size(1);
  for (std::int64_t i = 0; i < logits.size(0); ++i) {
    double* const row = values.data() + i * classes;
    const double most = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) sum += row[k] = std::exp(row[k] - most);
    for (std::int64_t k = 0; k < classes; ++k) row[k] /= sum;
    add_row(row, classes);
  }
}

/// mean KL = (sum p log p) / n - sum q log q with q the mean of the rows.
void InceptionScore::end_split() {
  const auto n = static_cast<double>(rows_);
  double divergence = entropy_ / n;
  for (const double sum : sums_) divergence -= p_log_p(sum / n);
  scores_.push_back(std::exp(divergence));
  entropy_ = 0;
  rows_ = 0;
  std::fill(sums_.begin(), sums_.end(), 0.0);
}

double InceptionScore::mean() {
  if (rows_ > 0) end_split();
  check(!scores_.empty(), "inception score: got no pictures, expected at least one");
  const double sum = std::accumulate(scores_.begin(), scores_.end(), 0.0);
  return sum / static_cast<double>(scores_.size());
}

}  // namespace fovea
