// Per-class statistics from the confusion matrix, and their tables and pictures.
#include "report/class_report.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "data/image.h"
#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
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

double ClassReport::Row::recall() const { return share(correct, images); }
double ClassReport::Row::precision() const { return share(correct, predicted); }

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
    } else if (count > most[label]) {
      most[label] = count;
      rows[label].confused_with = matrix_.classes[prediction];
    }
  }
  return rows;
}

std::string ClassReport::table() const {
  std::size_t width = 5;
  for (const std::string& name : matrix_.classes) width = std::max(width, name.size());
  const int column = static_cast<int>(width) + 2;
  std::ostringstream out;
  out << std::left << std::setw(column) << "class" << std::right << std::setw(8) << "images"
      << std::setw(9) << "correct" << std::setw(9) << "recall" << std::setw(11) << "precision"
      << "  most often confused with\n"
      << std::fixed << std::setprecision(2);
  for (const Row& row : rows()) {
    out << std::left << std::setw(column) << row.name << std::right << std::setw(8) << row.images
        << std::setw(9) << row.correct << std::setw(9) << row.recall() << std::setw(11)
        << row.precision() << "  " << row.confused_with << '\n';
  }
  return out.str();
}

std::string ClassReport::classes_csv() const {
  Csv csv("class,images,correct,recall,precision");
  for (const Row& row : rows()) {
    csv.row(row.name, row.images, row.correct, general_text(row.recall(), 6),
            general_text(row.precision(), 6));
  }
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

std::vector<std::filesystem::path> ClassReport::write(const std::filesystem::path& folder) const {
  make_folder(folder);
  std::vector<std::pair<std::filesystem::path, std::string>> files = {
      {folder / "classes.csv", classes_csv()},
      {folder / "confusion.csv", confusion_csv()},
  };
  if (is_whole()) {
    files.emplace_back(folder / "confusion.svg", svg_of_confusion(matrix_));
    files.emplace_back(folder / "confusion.png", encode_png(image_of_confusion(matrix_)));
  }
  std::vector<std::filesystem::path> written;
  for (const auto& [path, content] : files) {
    write_file_atomically(path, content);
    written.push_back(path);
  }
  return written;
}

}  // namespace fovea
