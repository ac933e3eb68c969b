// A learned token that is the same for every image: the class token, DeiT's distillation token,
// MAE's mask token.
#pragma once

#include <string_view>

#include "models/scope.h"

namespace fovea {

/// Repeats token [1, 1, D] -> [B, count, D].
[[nodiscard]] Tensor repeated(const Tensor& token, std::int64_t B, std::int64_t count);

class LearnedToken {
 public:
  LearnedToken(const Scope& s, std::string_view name, std::int64_t dim, const Init& init,
               Decay decay)
      : token_(s.param(name, {1, 1, dim}, init, decay)) {}

  /// The token, [1, 1, D].
  [[nodiscard]] Tensor value(DType dtype) const { return token_.to(dtype); }
  /// `count` copies for each image of x [B, N, D], in the dtype of x: [B, count, D].
  [[nodiscard]] Tensor like(const Tensor& x, std::int64_t count = 1) const {
    return repeated(value(x.dtype()), x.size(0), count);
  }

 private:
  Tensor token_;
};

}  // namespace fovea
