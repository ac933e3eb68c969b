// Tables and files of evaluations.
#include "report/evaluations.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/csv.h"
#include "engine/base/json.h"
#include "engine/base/output_folder.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"
#include "report/mistakes.h"

namespace fovea {
namespace {

using nlohmann::json;

double images_per_second(const Evaluation& result) {
  const double seconds = result.pass.seconds;
  return seconds > 0 ? static_cast<double>(result.metrics.samples) / seconds : 0;
}

/// The matrix row by row, or with very many classes the confusions that occurred, each as
/// [true class, prediction, images].
json json_of(const ClassReport& report) {
  const ConfusionMatrix& matrix = report.matrix();
  json rows = json::array();
  if (!report.is_whole()) {
    for (const auto& [cell, count] : matrix.counts)
      rows.push_back({cell.first, cell.second, count});
    return rows;
  }
  const std::size_t classes = matrix.classes.size();
  rows = json(classes, json(std::vector<std::int64_t>(classes)));
  for (const auto& [cell, count] : matrix.counts) {
    rows[static_cast<std::size_t>(cell.first)][static_cast<std::size_t>(cell.second)] = count;
  }
  return rows;
}

json json_of(std::optional<double> value) { return value ? json(*value) : json(); }

json json_of(const std::vector<BrokenImage>& broken) {
  json messages = json::array();
  for (const BrokenImage& image : broken) messages.push_back(image.message);
  return messages;
}

/// The data set's name for each class of the model; null if it has none.
json names_in_data(const EvaluatedModel& m) {
  json names(m.classes.size(), json());
  for (std::size_t i = 0; i < m.match.labels.size(); ++i)
    names.at(static_cast<std::size_t>(m.match.labels[i])) = m.data_classes.at(i);
  return names;
}

json json_of(const EvaluatedModel& m) {
  const Metrics& metrics = m.result.metrics;
  const Calibration calibration = m.calibration();
  const ClassReport report = m.class_report();
  json classes = json::array();
  const json names = names_in_data(m);
  for (const ClassReport::Row& row : report.rows()) {
    classes.push_back({{"name", row.name},
                       {"in_data", names[classes.size()]},
                       {"images", row.images},
                       {"correct", row.correct},
                       {"recall", json_of(row.recall())},
                       {"precision", json_of(row.precision())}});
  }
  return {{"checkpoint", m.checkpoint},
          {"model", m.model},
          {"dataset", m.dataset},
          {"height", m.size.height},
          {"width", m.size.width},
          {"crop_pct", m.crop_pct},
          {"images", metrics.samples},
          {"loss", metrics.loss()},
          {"top1", metrics.top1()},
          {"top5", metrics.top5()},
          {"mean_recall", report.mean_recall()},
          {"ece", calibration.expected_error()},
          {"mce", calibration.maximum_error()},
          {"overconfidence", calibration.overconfidence()},
          {"seconds", m.result.pass.seconds},
          {"img_s", images_per_second(m.result)},
          {"bad_images", json_of(m.result.pass.bad_images)},
          {"matched",
           {{"by", name_of(m.match.by)},
            {"classes", m.match.labels.size()},
            {"of", m.match.model_classes}}},
          {"classes", classes},
          {"confusion", json_of(report)}};
}

}  // namespace

ClassReport EvaluatedModel::class_report() const { return {classes, result.predictions}; }

std::string evaluation_table(std::span<const EvaluatedModel> models) {
  const bool has_top5 = std::ranges::any_of(models, &EvaluatedModel::has_top5);
  std::vector<std::vector<std::string>> rows{{"checkpoint", "size", "images", "loss", "top-1"}};
  if (has_top5) rows[0].emplace_back("top-5");
  for (const char* title : {"mean recall", "ECE", "img/s", "classes"}) rows[0].emplace_back(title);
  for (const EvaluatedModel& m : models) {
    const Metrics& metrics = m.result.metrics;
    std::vector<std::string>& row = rows.emplace_back(
        std::vector{m.checkpoint, to_string(m.size), std::to_string(metrics.samples),
                    fixed_text(metrics.loss(), 4), fixed_text(metrics.top1(), 2)});
    if (has_top5) row.push_back(m.has_top5() ? fixed_text(metrics.top5(), 2) : "-");
    row.insert(row.end(), {fixed_text(m.class_report().mean_recall(), 2),
                           fixed_text(m.calibration().expected_error(), 2),
                           fixed_text(images_per_second(m.result), 0), m.match.text()});
  }
  return terminal_table(rows, has_top5 ? "lrrrrrrrrl" : "lrrrrrrrl");
}

std::string evaluation_csv(std::span<const EvaluatedModel> models) {
  Csv csv(
      "checkpoint,model,dataset,height,width,crop_pct,images,bad_images,loss,top1,top5,mean_recall,"
      "ece,mce,"
      "overconfidence,seconds,img_s,classes,classes_of_model,matched_by");
  for (const EvaluatedModel& m : models) {
    const Metrics& metrics = m.result.metrics;
    const Calibration calibration = m.calibration();
    csv.row(m.checkpoint, m.model, m.dataset, m.size.height, m.size.width, m.crop_pct,
            metrics.samples, m.result.pass.bad_images.size(), metrics.loss(), metrics.top1(),
            metrics.top5(), m.class_report().mean_recall(), calibration.expected_error(),
            calibration.maximum_error(), calibration.overconfidence(), m.result.pass.seconds,
            images_per_second(m.result), m.match.labels.size(), m.match.model_classes,
            name_of(m.match.by));
  }
  return csv.text();
}

std::string evaluation_json(std::span<const EvaluatedModel> models) {
  json results = json::array();
  for (const EvaluatedModel& m : models) results.push_back(json_of(m));
  return json_text(json{{"results", results}}, 2) + "\n";
}

std::vector<std::filesystem::path> write_evaluation(const std::filesystem::path& folder,
                                                    const EvaluatedModel& model,
                                                    const Dataset& dataset,
                                                    const EvaluationTransform& preparation) {
  OutputFolder output(folder);
  model.class_report().write(output);
  const Calibration calibration = model.calibration();
  output.write("calibration.csv", calibration.csv());
  output.write("calibration.svg", calibration.svg());
  const std::vector<Mistake> mistakes =
      worst_mistakes(model.result.predictions, kMistakesShown, dataset, preparation);
  output.write("mistakes.csv", csv_of_mistakes(mistakes));
  if (!mistakes.empty()) {
    output.write("mistakes.svg", svg_of_mistakes(mistakes));
    output.write("mistakes.png", encode_png(sheet_of_mistakes(mistakes)));
  }
  return output.files();
}

}  // namespace fovea
