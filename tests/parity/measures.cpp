// Golden files of measures: distances and shares of given features, and the score of given
// probabilities. They are computed in f64 whatever the precision.
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "report/measures/frechet.h"
#include "report/measures/inception_score.h"
#include "report/measures/kernel_distance.h"
#include "report/measures/neighbours.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

std::int64_t count_in(nlohmann::json& config, const char* key, std::int64_t otherwise) {
  const nlohmann::json value = config.value(key, nlohmann::json(otherwise));
  check(value.is_number_integer() && value >= 1 && value <= 1'000'000, key, ": got ",
        json_text(value), ", expected a whole number from 1");
  config.erase(key);
  return value.get<std::int64_t>();
}

FeatureStatistics statistics_of(const Tensor& rows) {
  StatisticsSum sum;
  sum.add(rows);
  return sum.finish();
}

void compare(Case& c, const char* name, double ours) {
  c.compare_output(name, scalar(ours, {DType::f64, {}}));
}

}  // namespace

void check_measures(Case& c) {
  nlohmann::json config = c.config;
  const std::int64_t k = count_in(config, "k", 3), splits = count_in(config, "splits", 1);
  check(config.empty(), "key ", config.begin().key(), " is unknown, expected k or splits");
  const Tensor reference = c.take("reference"), samples = c.take("samples");
  compare(c, "frechet", frechet_distance(statistics_of(reference), statistics_of(samples)));
  compare(c, "kid", kernel_distance(reference, samples));
  const PrecisionRecall shares = precision_recall(reference, samples, k);
  compare(c, "precision", shares.precision);
  compare(c, "recall", shares.recall);
  const Tensor probabilities = c.take("probabilities");
  check(probabilities.rank() == 2 && probabilities.size(0) % splits == 0, "splits: got ", splits,
        " for probabilities ", probabilities.shape(), ", expected equal parts");
  InceptionScore score(probabilities.size(0) / splits);
  score.add(probabilities);
  compare(c, "inception_score", score.mean());
}

}  // namespace fovea::golden
