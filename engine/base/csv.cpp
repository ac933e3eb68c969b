// Formatting of CSV cells.
#include "engine/base/csv.h"

#include "engine/base/text.h"

namespace fovea {

void Csv::row_of(std::span<const double> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text_ += ',';
    append(text_, static_cast<float>(numbers[i]));
  }
  text_ += '\n';
}

void Csv::append_text(std::string& line, std::string_view cell) { line += csv_cell(cell); }

}  // namespace fovea
