// Writing files and numbers.
#include "inspect/output.h"

#include <array>
#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace fovea {

void Csv::row_of(std::span<const double> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text_ += ',';
    append(text_, static_cast<float>(numbers[i]));
  }
  text_ += '\n';
}

void Csv::append_text(std::string& line, std::string_view cell) { line += csv_cell(cell); }

void OutputFolder::write(const std::string& name, std::string_view content) {
  make_folder(folder_);
  write_file_atomically(folder_ / name, content);
  files_.push_back(folder_ / name);
}

std::string short_number(double value) { return general_text(value, 3); }

std::string padded(std::int64_t number) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%03lld", static_cast<long long>(number));
  return text.data();
}

}  // namespace fovea
