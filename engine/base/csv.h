// CSV tables.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace fovea {

/// Rows of numbers and texts, usually under a header. Numbers are written so that they read back
/// exactly.
class Csv {
 public:
  Csv() = default;  ///< no header
  explicit Csv(std::string_view header) : text_(std::string(header) + "\n") {}

  template <class... Cells>
  void row(const Cells&... cells) {
    (cell(cells), ...);
    end_row();
  }
  /// Appends cells to the current row one by one; end_row() ends it. A missing number becomes an
  /// empty cell.
  template <class T>
  Csv& cell(const T& value) {
    append(text_, value);
    text_ += ',';
    return *this;
  }
  void end_row() { text_.back() = '\n'; }
  /// A row of many numbers in f32, for maps.
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
