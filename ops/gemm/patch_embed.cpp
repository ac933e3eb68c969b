// A convolution with stride equal to its kernel: patches as the rows of a matrix, then one GEMM.
#include "engine/autograd.h"
#include "ops/common/checks.h"
#include "ops/common/parameters.h"
#include "ops/conv.h"
#include "ops/gemm/call.h"
#include "ops/gemm/gemm.h"
#include "ops/kernels.h"
#include "ops/matmul.h"

namespace fovea::ops {
namespace {

using detail::gemm;
using detail::transposed;
using detail::with_shape;

/// Images [B, C, grid * patch] and patches [B, N, C p q].
struct Grid {
  PatchesCall call;

  Grid(const Tensor& images, const Tensor& weight) {
    check(images.rank() == 4 && weight.rank() == 4 && images.shape()[1] == weight.shape()[1],
          "patch_embed: got images ", images.shape(), " and weight ", weight.shape(),
          ", expected [B, C, H, W] and [D, C, p, q]");
    call.batch = images.shape()[0];
    call.channels = images.shape()[1];
    for (int axis = 0; axis < 2; ++axis) {
      const std::int64_t size = images.shape()[2 + axis], patch = weight.shape()[2 + axis];
      check(patch >= 1 && size % patch == 0, "patch_embed: images ", images.shape(),
            " are not divisible into patches of ", weight.shape()[2], " x ", weight.shape()[3]);
      call.grid[axis] = size / patch;
      call.patch[axis] = patch;
    }
  }
  [[nodiscard]] std::int64_t tokens() const { return call.grid[0] * call.grid[1]; }
  [[nodiscard]] std::int64_t width() const { return call.channels * call.patch[0] * call.patch[1]; }

  /// The patches as rows [B N, C p q].
  [[nodiscard]] Tensor rows(const Tensor& images) const {
    const Tensor result = empty({call.batch * tokens(), width()}, images.options());
    PatchesCall c = call;
    c.dtype = images.dtype();
    c.images = images.raw();
    c.rows = result.raw();
    kernels(images.device()).gemm.images_to_rows(c);
    return result;
  }
  /// The inverse of rows().
  [[nodiscard]] Tensor images(const Tensor& rows) const {
    const Tensor result = empty(
        {call.batch, call.channels, call.grid[0] * call.patch[0], call.grid[1] * call.patch[1]},
        rows.options());
    PatchesCall c = call;
    c.dtype = rows.dtype();
    c.images = result.raw();
    c.rows = rows.raw();
    kernels(rows.device()).gemm.rows_to_images(c);
    return result;
  }
};

}  // namespace

Tensor patch_embed(const Tensor& images, const Tensor& weight, const Tensor& bias) {
  OpLabel op("patch_embed");
  detail::require_one_device(op, {images, weight, bias});
  detail::require_parameters(op, images, weight, bias);
  const Grid grid(images, weight);
  const std::int64_t D = weight.shape()[0];
  check(!bias.defined() || bias.shape() == Shape{D}, "patch_embed: got bias ",
        bias.defined() ? bias.shape() : Shape{}, ", expected [", D, "]");
  const Tensor packed = images.detach().contiguous();
  const Tensor w =
      with_shape(compute_copy(weight, images.dtype()).detach().contiguous(), {D, grid.width()});
  const Tensor rows = grid.rows(packed);
  const Tensor tokens = gemm(rows, transposed(w), images.dtype(), {.bias = bias});  // [B N, D]
  const Shape weight_shape = weight.shape();
  const DType weight_dtype = weight.dtype();
  const DType bias_dtype = bias.defined() ? bias.dtype() : weight_dtype;
  op.multiply_adds = tokens.numel() * grid.width();
  op.set({"patch", grid.call.patch});
  return record(op, with_shape(tokens, {images.shape()[0], grid.tokens(), D}),
                {images, weight, bias}, {rows, w}, [=](const GradArgs& g) -> Grads {
                  const Tensor dy = detail::as_matrix(g.dy);
                  Grads grads(3);
                  if (g.needs(0)) grads[0] = grid.images(gemm(dy, g.saved[1], dy.dtype()));
                  if (g.needs(1)) {
                    const Tensor dw = gemm(transposed(dy), g.saved[0], weight_dtype);
                    grads[1] = with_shape(dw, weight_shape);
                  }
                  if (g.needs(2)) grads[2] = detail::column_sums(dy, bias_dtype);
                  return grads;
                });
}

}  // namespace fovea::ops
