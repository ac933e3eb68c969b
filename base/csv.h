// Tables as CSV.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace fovea {

/// Rows of numbers and texts, most under a header. Numbers are written so that they read back the
/// same.
class Csv {
 public:
  Csv() = default;  ///< without a header
  explicit Csv(std::string_view header) : text_(std::string(header) + "\n") {}

  template <class... Cells>
  void row(const Cells&... cells) {
    (cell(cells), ...);
    end_row();
  }
  /// A row of as many cells as it takes, one after another; end_row() is behind the last. A number
  /// that is not there leaves its cell empty.
  template <class T>
  Csv& cell(const T& value) {
    append(text_, value);
    text_ += ',';
    return *this;
  }
  void end_row() { text_.back() = '\n'; }
  /// Many numbers, in f32: maps.
  void row_of(std::span<const double> numbers);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <class T>
  static void append(std::string& line, const T& cell) {
    if constexpr (std::is_arithmetic_v<T>) {
      char buffer[40];
      line.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, cell).ptr);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      if (cell) append(line, *cell);
    } else {
      append_text(line, cell);
    }
  }
  static void append_text(std::string& line, std::string_view cell);

  std::string text_;
};

}  // namespace fovea
