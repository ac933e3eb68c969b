// Operators of formulas.
#include "export/expression.h"

namespace fovea::onnx {
namespace {

Expression binary(const char* op, const Expression& a, const Expression& b) {
  return a.then(op, {b.name()});
}

}  // namespace

Expression Expression::then(const std::string& op, std::vector<std::string> others,
                            GraphWriter::Attributes attributes) const {
  others.insert(others.begin(), name_);
  return {*writer_, type_, writer_->node(op, std::move(others), std::move(attributes))};
}

Expression Expression::number(double value) const {
  return {*writer_, type_, writer_->number(value, type_)};
}

Expression Expression::to(DType type) const {
  if (type == type_) return *this;
  const Expression cast = then("Cast", {}, {{"to", static_cast<std::int64_t>(element_type(type))}});
  return {*writer_, type, cast.name()};
}

Expression Expression::with_axes(const std::vector<std::int64_t>& axes) const {
  return then("Unsqueeze", {writer_->integers(axes)});
}

Expression operator+(const Expression& a, const Expression& b) { return binary("Add", a, b); }
Expression operator-(const Expression& a, const Expression& b) { return binary("Sub", a, b); }
Expression operator*(const Expression& a, const Expression& b) { return binary("Mul", a, b); }
Expression operator/(const Expression& a, const Expression& b) { return binary("Div", a, b); }
Expression operator+(const Expression& a, double b) { return a + a.number(b); }
Expression operator-(const Expression& a, double b) { return a - a.number(b); }
Expression operator*(const Expression& a, double b) { return a * a.number(b); }
Expression operator/(const Expression& a, double b) { return a / a.number(b); }
Expression operator>(const Expression& a, const Expression& b) { return binary("Greater", a, b); }
Expression operator>(const Expression& a, double b) { return a > a.number(b); }

Expression floor(const Expression& x) { return x.then("Floor"); }
Expression ceil(const Expression& x) { return x.then("Ceil"); }
Expression round(const Expression& x) { return x.then("Round"); }
Expression abs(const Expression& x) { return x.then("Abs"); }
Expression min(const Expression& a, const Expression& b) { return binary("Min", a, b); }
Expression max(const Expression& a, const Expression& b) { return binary("Max", a, b); }

Expression where(const Expression& condition, const Expression& a, const Expression& b) {
  return {a.writer(), a.type(), a.writer().node("Where", {condition.name(), a.name(), b.name()})};
}

Expression step(const Expression& a, const Expression& b) {
  const Expression is_more(a.writer(), DType::u8, (a > b).name());
  return is_more.to(a.type());
}

}  // namespace fovea::onnx
