// Formatting of metrics, and scores from sums.
#include "train/run/task_info.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {

std::string Measure::text(double value) const {
  if (std::isnan(value)) return "-";
  return is_percent ? percent_text(value) : fixed_text(value, 4);
}

ScoreSums& ScoreSums::operator+=(const ScoreSums& other) {
  check(values.size() == other.values.size(), "scores: got sums of ", other.values.size(),
        " metrics, expected ", values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
  count += other.count;
  return *this;
}

EpochRank TaskInfo::rank(const Scores& scores) const {
  const auto loss = std::find_if(measures.begin(), measures.end(),
                                 [](const Measure& measure) { return measure.is_loss; });
  EpochRank rank{best_score(scores)};
  if (loss != measures.end()) rank.loss = scores.at(loss - measures.begin());
  return rank;
}

bool TaskInfo::is_better(const EpochRank& rank, const EpochRank& than) const {
  if (rank.score != than.score) return is_better(rank.score, than.score);
  return rank.loss && than.loss && *rank.loss < *than.loss;
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
