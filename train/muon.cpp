// Muon: momentum, orthogonalised by Newton-Schulz iterations (Jordan et al. 2024), in the form of
// timm's `muon`: a momentum that averages, five quintic steps with Cesista's coefficients, and
// rates that match AdamW's (Liu et al., "Muon is Scalable for LLM Training", 2025). Everything that
// is no matrix is updated by AdamW at the same rate.
//
//   p <- p (1 - lr wd)
//   m <- mu m + (1 - mu) g
//   p <- p - lr 0.2 sqrt(max(rows, columns)) O,   O = U V^T of m = U S V^T, nearly
//
//   X <- m / |m|;  five times: A = X X^T, X <- a X + (b A + c A A) X
//
// A convolution's weight [O, C, kh, kw] counts as the matrix [O, C kh kw]. The iterations run in
// the parameter's type; timm's run in bf16, which has no effect on what they are for.
#include <algorithm>
#include <cmath>

#include "engine/parallel.h"
#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "ops/view.h"
#include "train/gradients.h"
#include "train/optimizer.h"

namespace fovea::detail {
namespace {

struct Quintic {
  double a, b, c;
};
constexpr Quintic kSteps[] = {{4.0848, -6.8946, 2.9270},
                              {3.9505, -6.3029, 2.6377},
                              {3.7418, -5.5913, 2.3037},
                              {2.8769, -3.1427, 1.2046},
                              {2.8366, -3.0525, 1.2012}};

/// The nearest semi-orthogonal matrix to m [rows, columns], roughly.
Tensor orthogonalise(const Tensor& m, double eps) {
  const bool tall = m.size(0) > m.size(1);  // A is the smaller of the two squares
  Tensor x = tall ? ops::transpose(m, 0, 1).contiguous() : m;
  x = x * (1 / std::max(std::sqrt(sum_of_squares(x)), eps));
  for (const Quintic& q : kSteps) {
    const Tensor square = ops::matmul(x, x, {.b = true});
    const Tensor polynomial = square * q.b + ops::matmul(square, square) * q.c;
    x = x * q.a + ops::matmul(polynomial, x);
  }
  return tall ? ops::transpose(x, 0, 1).contiguous() : x;
}

template <class T>
void average(const Update& u, double momentum) {
  T* const m = u.m.data<T>();
  const T* const gradient = u.gradient.data<T>();
  const T keep = static_cast<T>(momentum), rest = static_cast<T>(1 - momentum);
  const T scale = static_cast<T>(u.gradient_scale);
  parallel_for(u.m.numel(), kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) m[i] = keep * m[i] + rest * (gradient[i] * scale);
  });
}

template <class T>
void apply(const Update& u, const Tensor& direction, double rate) {
  T* const p = u.parameter.data<T>();
  const T* const d = direction.data<T>();
  const T keep = static_cast<T>(1 - u.lr * u.weight_decay), step = static_cast<T>(rate);
  parallel_for(u.parameter.numel(), kUpdateGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) p[i] = p[i] * keep - step * d[i];
  });
}

}  // namespace

/// timm's rule: at least two axes longer than one, none of the first two of length one (position
/// embeddings, depthwise filters), as a matrix at least 4 by 4 and not longer than 128 times its
/// width.
bool suits_muon(const Shape& shape) {
  if (shape.rank() < 2 || shape[0] == 1 || shape[1] == 1) return false;
  const std::int64_t rows = shape[0], columns = shape.numel() / std::max<std::int64_t>(rows, 1);
  const std::int64_t shorter = std::min(rows, columns), longer = std::max(rows, columns);
  return shorter >= 4 && longer <= 128 * shorter;
}

void muon_update(const Update& update, const OptimizerOptions& options) {
  by_type(update, [&](auto zero) {
    using T = decltype(zero);
    average<T>(update, options.momentum);
    const std::int64_t rows = update.m.size(0), columns = update.m.numel() / rows;
    const Tensor direction =
        orthogonalise(ops::reshape(update.m, {rows, columns}), options.eps).contiguous();
    const auto longer = static_cast<double>(std::max(rows, columns));
    apply<T>(update, direction, update.lr * 0.2 * std::sqrt(longer));
  });
}

}  // namespace fovea::detail
