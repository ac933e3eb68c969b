// Per-class statistics from the confusion matrix, and their tables and pictures.
#include "report/class_report.h"

#include <algorithm>

#include "data/image.h"
#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"

namespace fovea {
namespace {

std::optional<double> share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return {};
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

ClassReport::ClassReport(std::vector<std::string> classes, std::span<const Prediction> predictions)
    : matrix_{std::move(classes)} {
  const auto count = std::ssize(matrix_.classes);
  for (const Prediction& p : predictions) {
    const bool known =
        std::min(p.label, p.prediction) >= 0 && std::max(p.label, p.prediction) < count;
    check(known, "ClassReport: got class ", p.label, " predicted as ", p.prediction,
          ", expected 0 to ", count - 1);
    ++matrix_.counts[{p.label, p.prediction}];
  }
}

std::string share_text(std::optional<double> percent) {
  return percent ? fixed_text(*percent, 2) : "-";
}

std::optional<double> ClassReport::Row::recall() const { return share(correct, images); }
std::optional<double> ClassReport::Row::precision() const { return share(correct, predicted); }

double ClassReport::mean_recall() const {
  double sum = 0;
  std::int64_t present = 0;
  for (const Row& row : rows()) {
    if (const auto recall = row.recall()) sum += *recall, ++present;
  }
  return sum / static_cast<double>(present);
}

std::vector<ClassReport::Row> ClassReport::rows() const {
  std::vector<Row> rows(matrix_.classes.size());
  std::vector<std::int64_t> most(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k].name = matrix_.classes[k];
  for (const auto& [cell, count] : matrix_.counts) {
    const auto label = static_cast<std::size_t>(cell.first);
    const auto prediction = static_cast<std::size_t>(cell.second);
    rows[label].images += count;
    rows[prediction].predicted += count;
    if (label == prediction) {
      rows[label].correct = count;
    } else if (count > most[label]) {  // the first class wins ties
      most[label] = count;
      rows[label].confused_with = matrix_.classes[prediction];
    }
  }
  return rows;
}

std::string ClassReport::table() const {
  std::vector<std::vector<std::string>> cells{
      {"class", "images", "correct", "recall", "precision", "most often confused with"}};
  for (const Row& row : rows()) {
    cells.push_back({row.name, std::to_string(row.images), std::to_string(row.correct),
                     share_text(row.recall()), share_text(row.precision()), row.confused_with});
  }
  return text_table(cells, "lrrrrl");
}

std::string ClassReport::classes_csv() const {
  Csv csv("class,images,correct,recall,precision");
  const auto cell = [](std::optional<double> percent) {
    return percent ? general_text(*percent, 6) : "";
  };
  for (const Row& row : rows())
    csv.row(row.name, row.images, row.correct, cell(row.recall()), cell(row.precision()));
  return csv.text();
}

std::string ClassReport::confusion_csv() const {
  const std::vector<std::string>& classes = matrix_.classes;
  Csv csv;
  if (!is_whole()) {
    csv.row("class", "taken_for", "images");
    for (const auto& [cell, count] : matrix_.counts) {
      csv.row(classes[static_cast<std::size_t>(cell.first)],
              classes[static_cast<std::size_t>(cell.second)], count);
    }
    return csv.text();
  }
  csv.cell("class");
  for (const std::string& name : classes) csv.cell(name);
  csv.end_row();
  for (std::int64_t label = 0; label < std::ssize(classes); ++label) {
    csv.cell(classes[static_cast<std::size_t>(label)]);
    for (std::int64_t k = 0; k < std::ssize(classes); ++k) csv.cell(matrix_.count(label, k));
    csv.end_row();
  }
  return csv.text();
}

void ClassReport::write(OutputFolder& output) const {
  output.write("classes.csv", classes_csv());
  output.write("confusion.csv", confusion_csv());
  if (!is_whole()) return;
  output.write("confusion.svg", svg_of_confusion(matrix_));
  output.write("confusion.png", encode_png(image_of_confusion(matrix_)));
}

}  // namespace fovea
