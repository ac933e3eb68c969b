// Matrix products and their derivatives, which are matrix products too.
#include "ops/matmul.h"

#include <atomic>

#include "engine/autograd.h"
#include "ops/common/checks.h"
#include "ops/gemm/gemm.h"

namespace fovea::ops {
namespace {

std::atomic<bool> tf32_allowed{false};

using detail::as_matrix;
using detail::gemm;
using detail::transposed;
using detail::with_shape;

void require_factors(std::string_view op, const Tensor& a, const Tensor& b) {
  detail::require_float(op, a);
  check(a.dtype() == b.dtype(), "matmul: got dtypes ", to_string(a.dtype()), " and ",
        to_string(b.dtype()), ", expected the same; convert one with to(dtype)");
  check(a.device() == b.device(), "matmul: got tensors on ", to_string(a.device()), " and ",
        to_string(b.device()), ", expected one device");
  check(a.rank() >= 2 && b.rank() >= 2, "matmul: got shapes ", a.shape(), " and ", b.shape(),
        ", expected at least two axes each");
}

/// a b for matrices; if b is one matrix for a whole batch, the batch is folded into the rows.
Tensor multiply(const Tensor& a, const Tensor& b) {
  if (b.rank() > 2 || a.rank() == 2) return gemm(a, b, a.dtype());
  Shape shape = a.shape();
  shape[-1] = b.shape()[-1];
  return with_shape(gemm(as_matrix(a), b, a.dtype()), shape);
}

/// d/db of a b, [..., K, N]; if b is one matrix for a whole batch, summed over the batch to [K,
/// N].
Tensor right_gradient(const Tensor& a, const Tensor& b, const Tensor& dy) {
  if (b.rank() > 2 || a.rank() == 2) return gemm(transposed(a), dy, b.dtype());
  return gemm(transposed(as_matrix(a)), as_matrix(dy), b.dtype());
}

}  // namespace

void allow_tf32(bool on) { tf32_allowed = on; }
bool is_tf32_allowed() { return tf32_allowed; }

Tensor matmul(const Tensor& a, const Tensor& b, Transpose transpose) {
  OpLabel op("matmul", {{"transpose_a", transpose.a}, {"transpose_b", transpose.b}});
  require_factors(op, a, b);
  const Tensor left = transpose.a ? transposed(a) : a.detach();
  const Tensor right = transpose.b ? transposed(b) : b.detach();
  check(left.shape()[-1] == right.shape()[-2], "matmul: inner sizes differ: a ", left.shape(),
        " x b ", right.shape(),
        left.shape()[-1] == right.shape()[-1] ? " (did you mean the transposed b?)" : "");
  const Tensor out = multiply(left, right);
  op.multiply_adds = out.numel() * left.size(-1);
  return record(op, out, {a, b}, {left, right}, [transpose](const GradArgs& g) -> Grads {
    const Tensor &x = g.saved[0], &y = g.saved[1];
    Grads grads(2);
    if (g.needs(0)) {
      const Tensor dx = multiply(g.dy, transposed(y));
      grads[0] = transpose.a ? transposed(dx) : dx;
    }
    if (g.needs(1)) {
      const Tensor dy = right_gradient(x, y, g.dy);
      grads[1] = transpose.b ? transposed(dy) : dy;
    }
    return grads;
  });
}

}  // namespace fovea::ops
