// Muon: momentum, orthogonalised by Newton-Schulz iterations (Jordan et al. 2024), in the form of
// timm's `muon`: a momentum that averages, five quintic steps with Cesista's coefficients, and
// rates that match AdamW's (Liu et al., "Muon is Scalable for LLM Training", 2025).
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
#include <vector>

#include "ops/arithmetic.h"
#include "ops/kernels.h"
#include "ops/matmul.h"
#include "ops/update/arrays.h"
#include "ops/update/call.h"
#include "ops/view.h"

namespace fovea::ops {
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
  Tensor x = tall ? transpose(m, 0, 1).contiguous() : m;
  const Tensor norm = sqrt(sum_of_squares({&x, 1}));  // stays on the device
  const Tensor least = full({}, eps, norm.options()), one = full({}, 1, norm.options());
  x = mul(x, div(one, maximum(norm, least)).to(x.dtype()));
  for (const Quintic& q : kSteps) {
    const Tensor square = matmul(x, x, {.b = true});
    const Tensor polynomial = square * q.b + matmul(square, square) * q.c;
    x = x * q.a + matmul(polynomial, x);
  }
  return tall ? transpose(x, 0, 1).contiguous() : x;
}

}  // namespace

void muon_(Updates updates, const MuonOptions& options) {
  const OpLabel op("muon_");
  const UpdateKernels& run = detail::kernels_of(op, updates);
  const auto momenta = detail::calls_of(
      op, updates, detail::MomentCount::one,
      [&](const Update& u, const UpdateArrays& arrays, const StepRates& rates) {
        check(u.tensors.m.rank() >= 2 && arrays.count > 0, "muon_: got a parameter ",
              u.tensors.m.shape(), ", expected a matrix or filters");
        return AverageCall{.dtype = arrays.dtype,
                           .count = arrays.count,
                           .average = arrays.m,
                           .value = arrays.g,
                           .keep = options.momentum,
                           .rest = 1 - options.momentum,
                           .now = rates.now,
                           .scales = true};
      });
  run.average(momenta);
  std::vector<Tensor> directions;
  run.move(detail::calls_of(
      op, updates, detail::MomentCount::one,
      [&](const Update& u, const UpdateArrays& arrays, const StepRates& rates) {
        const Tensor& m = u.tensors.m;
        const std::int64_t rows = m.size(0), columns = arrays.count / rows;
        directions.push_back(orthogonalise(reshape(m, {rows, columns}), options.eps).contiguous());
        const auto longer = static_cast<double>(std::max(rows, columns));
        return MoveCall{.dtype = arrays.dtype,
                        .count = arrays.count,
                        .p = arrays.p,
                        .u = directions.back().raw(),
                        .rates = rates,
                        .factors = {0.2, std::sqrt(longer)},
                        .follower = arrays.follower};
      }));
  detail::bump_versions(updates, detail::MomentCount::one);
}

}  // namespace fovea::ops
