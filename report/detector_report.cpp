// Tables, curves and files of evaluated detectors.
#include "report/detector_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/figures/plot.h"
#include "engine/base/csv.h"
#include "engine/base/json.h"
#include "engine/base/output_folder.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"

namespace fovea {
namespace {

using nlohmann::json;

constexpr std::size_t kClassesShown = 10;  // curves in one chart

/// The categories with objects.
std::vector<const CategoryPrecision*> found_in(const EvaluatedDetector& detector) {
  std::vector<const CategoryPrecision*> present;
  for (const CategoryPrecision& c : detector.precision.categories) {
    if (c.objects > 0) present.push_back(&c);
  }
  return present;
}

const std::string& name_of_category(const EvaluatedDetector& detector,
                                    const CategoryPrecision& category) {
  return detector.classes.at(static_cast<std::size_t>(category.category));
}

/// AP, AP50, AP75, AP by size, AR.
std::vector<double> row_of(const CategoryPrecision& c) {
  return {c.ap[0], c.ap50[0], c.ap75[0], c.ap[1], c.ap[2], c.ap[3], c.ar[0]};
}

std::string shown(double number) { return number < 0 ? "-" : fixed_text(number, 3); }

double per_second(const EvaluationPass& pass) {
  return pass.seconds > 0 ? static_cast<double>(pass.samples) / pass.seconds : 0;
}

std::string threshold_text(int threshold) { return fixed_text(0.5 + 0.05 * threshold, 2); }

/// The curve at an IoU threshold; `of` may be several categories, whose precision is averaged.
Series curve(const std::string& name, const std::vector<const CategoryPrecision*>& of,
             int threshold) {
  Series series{name, {}, {}};
  for (int r = 0; r < kRecallPoints; ++r) {
    double sum = 0;
    for (const CategoryPrecision* c : of) {
      sum += c->precision[static_cast<std::size_t>(threshold)][static_cast<std::size_t>(r)];
    }
    series.x.push_back(0.01 * r);
    series.y.push_back(sum / static_cast<double>(of.size()));
  }
  return series;
}

json json_of(const EvaluatedDetector& d) {
  json numbers = json::object(), categories = json::array();
  for (std::size_t i = 0; i < kPrecisionNames.size(); ++i)
    numbers[std::string(kPrecisionNames[i])] = d.precision.numbers[i];
  for (const CategoryPrecision* c : found_in(d)) {
    categories.push_back({{"category", c->category},
                          {"name", name_of_category(d, *c)},
                          {"objects", c->objects},
                          {"AP", c->ap},
                          {"AP50", c->ap50},
                          {"AP75", c->ap75},
                          {"AR", c->ar}});
  }
  return {{"checkpoint", d.checkpoint},
          {"model", d.model},
          {"dataset", d.dataset},
          {"images", d.pass.samples},
          {"bad_images", d.pass.bad_images.size()},
          {"loss", d.loss},
          {"numbers", numbers},
          {"seconds", d.pass.seconds},
          {"categories", categories}};
}

std::string categories_csv(const EvaluatedDetector& detector) {
  Csv csv("category,name,objects,AP,AP50,AP75,AP_small,AP_medium,AP_large,AR");
  for (const CategoryPrecision* c : found_in(detector)) {
    csv.cell(c->category).cell(name_of_category(detector, *c)).cell(c->objects);
    for (const double number : row_of(*c)) csv.cell(number);
    csv.end_row();
  }
  return csv.text();
}

}  // namespace

std::vector<std::vector<std::string>> category_rows(const EvaluatedDetector& detector) {
  std::vector<std::vector<std::string>> rows{
      {"class", "objects", "AP", "AP50", "AP75", "small", "medium", "large", "AR"}};
  for (const CategoryPrecision* c : found_in(detector)) {
    std::vector<std::string>& row =
        rows.emplace_back(std::vector{name_of_category(detector, *c), std::to_string(c->objects)});
    for (const double number : row_of(*c)) row.push_back(shown(number));
  }
  return rows;
}

std::string category_table(const EvaluatedDetector& detector) {
  return text_table(category_rows(detector));
}

std::string detector_table(std::span<const EvaluatedDetector> detectors) {
  std::vector<std::vector<std::string>> rows{{"checkpoint", "images", "loss"}};
  for (const std::string_view name : kPrecisionNames) rows[0].emplace_back(name);
  rows[0].emplace_back("img/s");
  for (const EvaluatedDetector& d : detectors) {
    std::vector<std::string>& row = rows.emplace_back(
        std::vector{d.checkpoint, std::to_string(d.pass.samples), fixed_text(d.loss, 4)});
    for (const double number : d.precision.numbers) row.push_back(shown(number));
    row.push_back(fixed_text(per_second(d.pass), 0));
  }
  return terminal_table(rows);
}

std::string detector_csv(std::span<const EvaluatedDetector> detectors) {
  std::string header = "checkpoint,model,dataset,images,bad_images,loss,";
  for (const std::string_view name : kPrecisionNames) header.append(name).append(",");
  Csv csv(header + "seconds,img_s");
  for (const EvaluatedDetector& d : detectors) {
    csv.cell(d.checkpoint).cell(d.model).cell(d.dataset).cell(d.pass.samples);
    csv.cell(d.pass.bad_images.size()).cell(d.loss);
    for (const double number : d.precision.numbers) csv.cell(number);
    csv.cell(d.pass.seconds).cell(per_second(d.pass)).end_row();
  }
  return csv.text();
}

std::string detector_json(std::span<const EvaluatedDetector> detectors) {
  json results = json::array();
  for (const EvaluatedDetector& d : detectors) results.push_back(json_of(d));
  return json_text(json{{"results", results}}, 2) + "\n";
}

std::string svg_of_precision(const EvaluatedDetector& detector) {
  auto present = found_in(detector);
  std::vector<Chart> charts{{"All classes, by IoU", "recall", "precision", {}},
                            {"IoU 0.50, by class", "recall", "precision", {}}};
  if (!present.empty()) {  // the mean over no categories is undefined
    for (const int threshold : {0, 5, 8}) {
      const std::string name = "IoU " + threshold_text(threshold);
      charts[0].series.push_back(curve(name, present, threshold));
    }
  }
  std::stable_sort(present.begin(), present.end(),
                   [](const auto* a, const auto* b) { return a->objects > b->objects; });
  if (present.size() > kClassesShown) present.resize(kClassesShown);
  for (const CategoryPrecision* c : present)
    charts[1].series.push_back(curve(name_of_category(detector, *c), {c}, 0));
  for (Chart& chart : charts) chart.y_within = {0, 1};
  return svg_of_charts(charts);
}

std::string precision_csv(const EvaluatedDetector& detector) {
  Csv csv("category,name,iou,recall,precision");
  for (const CategoryPrecision* c : found_in(detector)) {
    for (int t = 0; t < kIouThresholds; ++t) {
      const Series series = curve("", {c}, t);
      for (std::size_t r = 0; r < series.x.size(); ++r) {
        csv.row(c->category, name_of_category(detector, *c), threshold_text(t),
                fixed_text(series.x[r], 2), fixed_text(series.y[r], 6));
      }
    }
  }
  return csv.text();
}

std::vector<std::filesystem::path> write_precision(const std::filesystem::path& folder,
                                                   const EvaluatedDetector& detector) {
  OutputFolder output(folder);
  output.write("precision.csv", categories_csv(detector));
  output.write("precision_recall.csv", precision_csv(detector));
  output.write("precision_recall.svg", svg_of_precision(detector));
  return output.files();
}

}  // namespace fovea
