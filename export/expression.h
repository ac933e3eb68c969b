// Formulas as nodes: a + b adds a node to a graph.
#pragma once

#include <string>
#include <utility>

#include "export/graph_writer.h"

namespace fovea::onnx {

/// A value of a graph that is being written. A number beside it is a constant of its type.
class Expression {
 public:
  Expression(GraphWriter& writer, DType type, std::string name)
      : writer_(&writer), type_(type), name_(std::move(name)) {}

  [[nodiscard]] GraphWriter& writer() const { return *writer_; }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The output of a node with this as its first input, of the same type.
  [[nodiscard]] Expression then(const std::string& op, std::vector<std::string> others = {},
                                GraphWriter::Attributes attributes = {}) const;
  /// A constant of this type.
  [[nodiscard]] Expression number(double value) const;
  [[nodiscard]] Expression to(DType type) const;
  /// This with the positions of `axes` as axes of size 1.
  [[nodiscard]] Expression with_axes(const std::vector<std::int64_t>& axes) const;

 private:
  GraphWriter* writer_;
  DType type_;
  std::string name_;
};

[[nodiscard]] Expression operator+(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator-(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator*(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator/(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator+(const Expression& a, double b);
[[nodiscard]] Expression operator-(const Expression& a, double b);
[[nodiscard]] Expression operator*(const Expression& a, double b);
[[nodiscard]] Expression operator/(const Expression& a, double b);
/// Booleans, to be used as conditions of where().
[[nodiscard]] Expression operator>(const Expression& a, const Expression& b);
[[nodiscard]] Expression operator>(const Expression& a, double b);

[[nodiscard]] Expression floor(const Expression& x);
[[nodiscard]] Expression ceil(const Expression& x);
[[nodiscard]] Expression round(const Expression& x);  ///< half to even
[[nodiscard]] Expression abs(const Expression& x);
[[nodiscard]] Expression min(const Expression& a, const Expression& b);
[[nodiscard]] Expression max(const Expression& a, const Expression& b);
[[nodiscard]] Expression where(const Expression& condition, const Expression& a,
                               const Expression& b);
/// 1 where a > b, otherwise 0, of the type of a.
[[nodiscard]] Expression step(const Expression& a, const Expression& b);

}  // namespace fovea::onnx
