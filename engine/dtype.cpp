// Names of element types.
#include "engine/dtype.h"

#include <ostream>

namespace fovea {

std::string_view to_string(DType dtype) {
  constexpr std::string_view names[] = {"f64", "f32", "bf16", "i64", "u8"};
  return names[static_cast<std::size_t>(dtype)];
}

DType parse_dtype(std::string_view text) {
  for (const DType d : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::u8}) {
    if (to_string(d) == text) return d;
  }
  fail("dtype: got '", text, "', expected f64, f32, bf16, i64 or u8");
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }

}  // namespace fovea
