// Copies of a learned token.
#include "models/layers/learned_token.h"

#include "ops/view.h"

namespace fovea {

Tensor repeated(const Tensor& token, std::int64_t B, std::int64_t count) {
  return ops::expand(token, {B, count, token.size(2)});
}

}  // namespace fovea
