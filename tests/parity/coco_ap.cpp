// Golden files of the COCO evaluation: the twelve numbers and the precision curves of tables of
// boxes. Computed in f64 whatever the precision.
#include "engine/base/error.h"
#include "models/config_reader.h"
#include "models/detection/average_precision.h"
#include "tests/parity/case.h"

namespace fovea::golden {
namespace {

constexpr std::int64_t kMax = 1'000'000;

/// The rows of a table of numbers.
std::vector<std::vector<double>> take_rows(Case& c, const char* name, std::int64_t columns) {
  const Tensor table = c.take(name);
  check(table.rank() == 2 && table.size(1) == columns, name, ": got shape ", table.shape(),
        ", expected [n, ", columns, "]");
  const std::vector<double> values = table.to_vector();
  std::vector<std::vector<double>> rows;
  for (auto at = values.begin(); at != values.end(); at += columns) {
    rows.emplace_back(at, at + columns);
  }
  return rows;
}

/// 1 ... count.
std::vector<std::int64_t> ids(std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t id = 1; id <= count; ++id) all.push_back(id);
  return all;
}

/// [10 thresholds, 101 recalls, classes].
Tensor precision_of(const AveragePrecision& result) {
  std::vector<double> values;
  for (std::size_t t = 0; t < kIouThresholds; ++t) {
    for (std::size_t r = 0; r < kRecallPoints; ++r) {
      for (const CategoryPrecision& category : result.categories) {
        values.push_back(category.precision[t][r]);
      }
    }
  }
  return from_values({kIouThresholds, kRecallPoints, std::ssize(result.categories)}, values,
                     {DType::f64, {}});
}

}  // namespace

void check_coco_ap(Case& c) {
  std::int64_t images = 0, classes = 0;
  ConfigReader r("config", c.config);
  r.read("images", images, 1, kMax);
  r.read("classes", classes, 1, kMax);
  r.finish();
  const auto whole = [](double v) { return static_cast<std::int64_t>(v); };
  std::vector<TruthBox> truth;
  for (const std::vector<double>& row : take_rows(c, "truth", 8)) {
    truth.push_back(
        {whole(row[0]), whole(row[1]), row[2], row[3], row[4], row[5], row[6], row[7] != 0});
  }
  std::vector<ScoredBox> detections;
  for (const std::vector<double>& row : take_rows(c, "detections", 7)) {
    detections.push_back({whole(row[0]), whole(row[1]), row[2], row[3], row[4], row[5], row[6]});
  }
  const AveragePrecision result = average_precision(truth, detections, ids(classes), ids(images));
  c.compare_output("stats", from_values({12}, result.numbers, {DType::f64, {}}));
  if (c.has("precision")) c.compare_output("precision", precision_of(result));
}

}  // namespace fovea::golden
