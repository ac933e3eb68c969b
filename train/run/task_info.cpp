// Measures as text, and scores of sums.
#include "train/run/task_info.h"

#include "base/error.h"
#include "base/text.h"

namespace fovea {

std::string Measure::text(double value) const {
  return is_percent ? percent_text(value) : fixed_text(value, 4);
}

ScoreSums& ScoreSums::operator+=(const ScoreSums& other) {
  check(values.size() == other.values.size(), "scores: got sums of ", other.values.size(),
        " measures, expected ", values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
  count += other.count;
  return *this;
}

Scores TaskInfo::means(const ScoreSums& sums) const {
  Scores scores;
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    const double mean = sums.count == 0 ? 0 : sums.values[i] / static_cast<double>(sums.count);
    scores.push_back(measures.at(i).is_percent ? 100 * mean : mean);
  }
  return scores;
}

}  // namespace fovea
