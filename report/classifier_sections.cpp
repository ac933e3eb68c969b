// Report sections of a classifier: calibration, classes and confusion, worst mistakes.
#include "report/classifier_sections.h"

#include <algorithm>
#include <cmath>

#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::size_t kManyClasses = 40;       // tables of more classes are collapsed
constexpr std::size_t kMaxDrawnClasses = 100;  // matrices of more classes are drawn as pixels

void add_calibration(Html& html, const EvaluatedModel& model) {
  const Calibration calibration = model.calibration();
  const double over = calibration.overconfidence();
  html.element(
      "p",
      "A calibrated model is right in 80 % of its predictions with a confidence of 80 %. Here "
      "confidence and accuracy differ by " +
          percent_text(calibration.expected_error()) + " on average (expected calibration error, " +
          std::to_string(Calibration::kBins) + " bins) and by " +
          percent_text(calibration.maximum_error()) + " at most; overall the model is " +
          (over > 0 ? "overconfident by " : "underconfident by ") + percent_text(std::abs(over)) +
          ".");
  html.figure(calibration.svg(),
              "Reliability diagram: accuracy over confidence, and the distribution of confidence. "
              "Expected calibration error " +
                  percent_text(calibration.expected_error()) + ".");
}

void add_class_table(Html& html, const std::vector<ClassReport::Row>& classes) {
  std::vector<std::vector<std::string>> rows;
  for (const ClassReport::Row& row : classes) {
    rows.push_back({row.name, std::to_string(row.images), std::to_string(row.correct),
                    share_text(row.recall()), share_text(row.precision()), row.confused_with});
  }
  html.table(
      {"class", "images", "correct", "recall, %", "precision, %", "most often confused with"},
      rows);
}

void add_classes(Html& html, const EvaluatedModel& model) {
  const ClassReport report = model.class_report();
  std::vector<ClassReport::Row> rows = report.rows();
  const std::string said = "Confusion matrix of " + std::to_string(rows.size()) +
                           " classes: rows are true classes, columns predictions.";
  if (rows.size() <= kMaxDrawnClasses) {
    html.figure(svg_of_confusion(report.matrix()), said);
  } else if (report.is_whole()) {
    const auto figure = html.inside("div", {{"class", "figure"}});
    html.image("image/png", encode_png(image_of_confusion(report.matrix())), said);
  }
  if (rows.size() > kManyClasses) {
    const auto rank = [](const auto& row) { return row.recall().value_or(HUGE_VAL); };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    const auto details = html.inside("details");
    html.element("summary", "All classes, lowest recall first");
    add_class_table(html, rows);
  } else {
    add_class_table(html, rows);
  }
}

void add_mistake(Html& html, const Mistake& mistake) {
  const bool small = std::max(mistake.image.height, mistake.image.width) <= kMaxPixelSide;
  const auto figure = html.inside("figure");
  html.image("image/png", encode_png(mistake.image),
             mistake.name + ": " + mistake.label + ", predicted as " + mistake.prediction,
             {{"class", small ? "pixels" : "photo"}, {"title", mistake.name}});
  const auto caption = html.inside("figcaption");
  html.element("b", mistake.label).text("predicted as ");
  html.element("b", mistake.prediction, {{"class", "wrong"}});
  html.text("with " + percent_text(100 * mistake.what.confidence) + " confidence");
}

void add_mistakes(Html& html, const std::vector<Mistake>& mistakes) {
  html.element("p", mistakes.empty() ? "No mistakes."
                                     : "The most confident wrong predictions; images as "
                                       "the model sees them.");
  const auto gallery = html.inside("div", {{"class", "gallery"}});
  for (const Mistake& mistake : mistakes) add_mistake(html, mistake);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> scores_of(const EvaluatedModel& model) {
  const Metrics& metrics = model.result.metrics;
  std::vector<std::pair<std::string, std::string>> scores{{"top-1", percent_text(metrics.top1())}};
  if (model.has_top5()) scores.emplace_back("top-5", percent_text(metrics.top5()));
  scores.emplace_back("mean recall", percent_text(model.class_report().mean_recall()));
  scores.emplace_back("loss", fixed_text(metrics.loss(), 4));
  scores.emplace_back("calibration error", percent_text(model.calibration().expected_error()));
  return scores;
}

std::vector<Section> sections_of(const EvaluatedModel& model,
                                 const std::vector<Mistake>& mistakes) {
  return {{"calibration", "Calibration", [model](Html& html) { add_calibration(html, model); }},
          {"classes", "Classes", [model](Html& html) { add_classes(html, model); }},
          {"mistakes", "Worst mistakes", [mistakes](Html& html) { add_mistakes(html, mistakes); }}};
}

}  // namespace fovea
