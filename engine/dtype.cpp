// Names of element types.
#include "engine/dtype.h"

#include <ostream>

namespace fovea {

std::string_view to_string(DType dtype) {
  return kNames<DType>[static_cast<std::size_t>(dtype)].name;
}

DType parse_dtype(std::string_view text) {
  if (const std::optional<DType> found = find_named<DType>(text)) return *found;
  fail("dtype: got '", text, "', expected f64, f32, bf16, i64 or u8");
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }

}  // namespace fovea
