// Counting along the rows and columns of the confusion matrix, and writing it down.
#include "report/class_report.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "data/image.h"

namespace fovea {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

ClassReport::ClassReport(std::vector<std::string> classes, std::vector<std::int64_t> counts)
    : matrix_{std::move(classes), std::move(counts)} {
  check(matrix_.counts.size() == matrix_.classes.size() * matrix_.classes.size(),
        "ClassReport: got ", matrix_.counts.size(), " counts for ", matrix_.classes.size(),
        " classes");
}

double ClassReport::Row::recall() const { return share(correct, images); }
double ClassReport::Row::precision() const { return share(correct, predicted); }

std::vector<ClassReport::Row> ClassReport::rows() const {
  const std::size_t classes = matrix_.classes.size();
  std::vector<Row> rows(classes);
  for (std::size_t label = 0; label < classes; ++label) {
    Row& row = rows[label];
    row.name = matrix_.classes[label];
    std::int64_t most = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const std::int64_t count = matrix_.counts[label * classes + k];
      row.images += count;
      rows[k].predicted += count;
      if (k == label) row.correct = count;
      if (k != label && count > most) {
        most = count;
        row.confused_with = matrix_.classes[k];
      }
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
      << "  most often taken for\n"
      << std::fixed << std::setprecision(2);
  for (const Row& row : rows()) {
    out << std::left << std::setw(column) << row.name << std::right << std::setw(8) << row.images
        << std::setw(9) << row.correct << std::setw(9) << row.recall() << std::setw(11)
        << row.precision() << "  " << row.confused_with << '\n';
  }
  return out.str();
}

std::string ClassReport::classes_csv() const {
  std::ostringstream out;
  out << "class,images,correct,recall,precision\n";
  for (const Row& row : rows()) {
    out << csv_cell(row.name) << ',' << row.images << ',' << row.correct << ',' << row.recall()
        << ',' << row.precision() << '\n';
  }
  return out.str();
}

std::string ClassReport::confusion_csv() const {
  std::ostringstream out;
  out << "class";
  for (const std::string& name : matrix_.classes) out << ',' << csv_cell(name);
  out << '\n';
  const std::size_t classes = matrix_.classes.size();
  for (std::size_t label = 0; label < classes; ++label) {
    out << csv_cell(matrix_.classes[label]);
    for (std::size_t k = 0; k < classes; ++k) out << ',' << matrix_.counts[label * classes + k];
    out << '\n';
  }
  return out.str();
}

std::vector<std::filesystem::path> ClassReport::write(const std::filesystem::path& folder) const {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  check(!error, folder.string(), ": cannot be made: ", error.message());
  const std::vector<std::pair<std::filesystem::path, std::string>> files = {
      {folder / "classes.csv", classes_csv()},
      {folder / "confusion.csv", confusion_csv()},
      {folder / "confusion.svg", svg_of_confusion(matrix_)},
      {folder / "confusion.png", encode_png(image_of_confusion(matrix_))},
  };
  std::vector<std::filesystem::path> written;
  for (const auto& [path, content] : files) {
    write_file_atomically(path, content);
    written.push_back(path);
  }
  return written;
}

}  // namespace fovea
