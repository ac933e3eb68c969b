// Values and text of op attributes.
#include "engine/op_label.h"

#include <ostream>

#include "engine/base/text.h"

namespace fovea {

void OpAttribute::require(Kind kind) const {
  check(kind_ == kind, "attribute ", name_, ": its kind differs from the requested kind");
}

std::int64_t OpAttribute::integer() const {
  require(Kind::integer);
  return value_.integers[0];
}

double OpAttribute::real() const {
  require(Kind::real);
  return value_.real;
}

std::string_view OpAttribute::text() const {
  require(Kind::text);
  return value_.text;
}

std::span<const std::int64_t> OpAttribute::integers() const {
  if (kind_ != Kind::integer) require(Kind::integers);
  return {value_.integers, count_};
}

std::ostream& operator<<(std::ostream& out, const OpAttribute& attribute) {
  out << attribute.name() << '=';
  switch (attribute.kind()) {
    case OpAttribute::Kind::integer:
      return out << attribute.integer();
    case OpAttribute::Kind::real:
      return out << general_text(attribute.real(), 6);
    case OpAttribute::Kind::text:
      return out << attribute.text();
    case OpAttribute::Kind::integers:
      break;
  }
  const char* before = "[";
  for (const std::int64_t value : attribute.integers()) {
    out << before << value;
    before = ", ";
  }
  return out << (attribute.integers().empty() ? "[]" : "]");
}

std::ostream& operator<<(std::ostream& out, const OpLabel& label) { return out << label.name(); }

}  // namespace fovea
