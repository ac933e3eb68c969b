// GemmCall by cuBLASLt, which supports fewer layouts than GemmCall: operands that it cannot read
// are packed first; operations that it cannot fuse (GELU, a bias per row, other dtypes) run
// afterwards in kernels (finish.cu).
//
// cuBLASLt is column-major, so C^T = B^T A^T is computed: a row-major matrix with leading
// dimension ld is, in column-major form, its transpose with the same ld.
#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/cuda/launch.h"
#include "engine/kernels.h"
#include "engine/storage.h"
#include "ops/gemm/cuda.h"
#include "ops/gemm/cuda_lt.h"

namespace fovea::ops::cuda {
namespace {

using fovea::cuda::temporary;

Device current() { return {DeviceType::cuda, fovea::cuda::current_device()}; }

std::int64_t batch_count(const GemmCall& call) {
  return std::accumulate(call.batch, call.batch + kGemmBatchAxes, std::int64_t{1},
                         std::multiplies<>());
}

/// An operand, rows x columns, in a layout that cuBLASLt can read: in place, or a packed copy.
class Operand {
 public:
  Operand(const GemmCall& call, const GemmOperand& x, std::int64_t rows, std::int64_t columns,
          DType dtype)
      : x_(x), rows_(rows), columns_(columns) {
    if (!is_readable() || x.dtype != dtype) pack(call, dtype);
  }

  [[nodiscard]] const GemmOperand& get() const { return x_; }
  /// Whether rows instead of columns are adjacent elements.
  [[nodiscard]] bool is_transposed() const { return !has_adjacent_columns(); }
  [[nodiscard]] LtMatrix matrix() const {
    LtMatrix m;
    m.dtype = x_.dtype;
    m.rows = is_transposed() ? rows_ : columns_;
    m.columns = is_transposed() ? columns_ : rows_;
    m.leading = std::max(is_transposed() ? x_.col : x_.row, m.rows);
    return m;
  }

 private:
  [[nodiscard]] bool has_adjacent_columns() const {
    return (x_.col == 1 || columns_ == 1) && (x_.row >= columns_ || rows_ == 1);
  }
  [[nodiscard]] bool has_adjacent_rows() const {
    return (x_.row == 1 || rows_ == 1) && (x_.col >= rows_ || columns_ == 1);
  }
  [[nodiscard]] bool is_readable() const { return has_adjacent_columns() || has_adjacent_rows(); }

  void pack(const GemmCall& call, DType dtype) {
    CopyCall copy;
    copy.to_dtype = dtype;
    copy.from_dtype = x_.dtype;
    copy.from = x_.data;
    copy.axes.rank = kGemmBatchAxes + 2;
    GemmOperand packed{nullptr, dtype, columns_, 1, {}};
    std::int64_t count = rows_ * columns_;
    for (int axis = kGemmBatchAxes - 1; axis >= 0; --axis) {
      const bool repeats = x_.batch[axis] == 0;  // packed once and reused
      packed.batch[axis] = repeats ? 0 : count;
      copy.axes.shape[axis] = repeats ? 1 : call.batch[axis];
      copy.axes.strides[0][axis] = packed.batch[axis];
      copy.axes.strides[1][axis] = x_.batch[axis];
      count *= copy.axes.shape[axis];
    }
    const std::int64_t sizes[] = {rows_, columns_}, to[] = {columns_, 1}, from[] = {x_.row, x_.col};
    for (int i = 0; i < 2; ++i) {
      copy.axes.shape[kGemmBatchAxes + i] = sizes[i];
      copy.axes.strides[0][kGemmBatchAxes + i] = to[i];
      copy.axes.strides[1][kGemmBatchAxes + i] = from[i];
    }
    copy.axes.count = count;
    storage_ = temporary(count, dtype);
    copy.to = storage_.data();
    data_kernels(current()).copy(copy);
    packed.data = storage_.data();
    x_ = packed;
  }

  GemmOperand x_;
  std::int64_t rows_, columns_;
  Storage storage_;
};

/// The largest power of two, at most 256, that divides the address and every step from it.
int alignment_of(const void* data, const LtMatrix& x, const std::int64_t* batch, int inner) {
  constexpr std::uint64_t kMaxAlignment = 256;
  std::uint64_t bits = reinterpret_cast<std::uintptr_t>(data) | kMaxAlignment;
  const auto size = static_cast<std::uint64_t>(size_of(x.dtype));
  for (int axis = 0; axis < kGemmBatchAxes; ++axis) {
    if (axis != inner) bits |= size * static_cast<std::uint64_t>(batch[axis]);
  }
  return static_cast<int>(bits & (~bits + 1));
}

/// The batch axis with the most entries is passed to cuBLASLt; the others are looped over.
int longest_axis(const GemmCall& call) {
  return static_cast<int>(std::max_element(call.batch, call.batch + kGemmBatchAxes) - call.batch);
}

/// Merges batch axes that are contiguous in all three matrices: C and the larger operand of most
/// batches are.
void merge_batch(GemmCall& call) {
  const GemmCall given = call;
  int last = kGemmBatchAxes;  // the outermost axis of the result so far
  for (int axis = kGemmBatchAxes - 1; axis >= 0; --axis) {
    call.batch[axis] = 1;
    const std::int64_t count = given.batch[axis];
    if (count == 1) continue;
    const auto follows = [&](const std::int64_t* strides, const std::int64_t* merged) {
      return strides[axis] == merged[last] * call.batch[last];
    };
    if (last < kGemmBatchAxes && follows(given.a.batch, call.a.batch) &&
        follows(given.b.batch, call.b.batch) && follows(given.c.batch, call.c.batch)) {
      call.batch[last] *= count;
      continue;
    }
    --last;
    call.batch[last] = count;
    call.a.batch[last] = given.a.batch[axis];
    call.b.batch[last] = given.b.batch[axis];
    call.c.batch[last] = given.c.batch[axis];
  }
}

std::int64_t bytes_of(std::int64_t count, DType dtype) {
  return count * static_cast<std::int64_t>(size_of(dtype));
}
const std::byte* at(const void* data, DType dtype, std::int64_t offset) {
  return static_cast<const std::byte*>(data) + bytes_of(offset, dtype);
}
std::byte* at(void* data, DType dtype, std::int64_t offset) {
  return static_cast<std::byte*>(data) + bytes_of(offset, dtype);
}

/// The GEMM alone, C = alpha A B (+ bias per column) (+ addend), in dtypes that cuBLASLt supports.
void multiply(const GemmCall& call, const Operand& left, const Operand& right) {
  const int inner = longest_axis(call);
  LtProduct product;
  product.transposed = {right.is_transposed(), left.is_transposed()};
  product.a = right.matrix();
  product.b = left.matrix();
  product.d = {call.c.dtype, call.n, call.m, std::max(call.c.row, call.n), 0, 0};
  product.a.batch_stride = right.get().batch[inner];
  product.b.batch_stride = left.get().batch[inner];
  product.d.batch_stride = call.c.batch[inner];
  product.a.alignment = alignment_of(right.get().data, product.a, right.get().batch, inner);
  product.b.alignment = alignment_of(left.get().data, product.b, left.get().batch, inner);
  product.d.alignment = alignment_of(call.c.data, product.d, call.c.batch, inner);
  if (call.addend != nullptr) {
    const int addend = alignment_of(call.addend, product.d, call.c.batch, inner);
    product.d.alignment = std::min(product.d.alignment, addend);
  }
  product.batch = static_cast<int>(call.batch[inner]);
  product.has_bias = call.bias_kind == GemmBias::per_column;
  product.adds = call.addend != nullptr;

  GemmCall loop = call;
  loop.batch[inner] = 1;
  for (std::int64_t i = 0; i < batch_count(loop); ++i) {
    const std::int64_t to = gemm_batch_offset(loop, call.c.batch, i);
    LtPointers pointers{};
    pointers.a =
        at(right.get().data, right.get().dtype, gemm_batch_offset(loop, right.get().batch, i));
    pointers.b =
        at(left.get().data, left.get().dtype, gemm_batch_offset(loop, left.get().batch, i));
    pointers.d = at(call.c.data, call.c.dtype, to);
    if (product.adds) pointers.c = at(call.addend, call.c.dtype, to);
    pointers.bias = call.bias;
    lt_product(product, call.alpha, pointers);
  }
}

/// The bias in the form that the epilogue requires, the output's dtype and aligned: in place, or a
/// copy in `storage`.
const void* bias_for_epilogue(const GemmCall& call, Storage& storage) {
  const DType given = call.bias_is_bf16            ? DType::bf16
                      : call.c.dtype == DType::f64 ? DType::f64
                                                   : DType::f32;
  const bool fits = given == call.c.dtype && reinterpret_cast<std::uintptr_t>(call.bias) % 16 == 0;
  if (fits) return call.bias;
  storage = temporary(call.n, call.c.dtype);
  CopyCall copy;
  copy.axes.rank = 1;
  copy.axes.count = copy.axes.shape[0] = call.n;
  copy.axes.strides[0][0] = copy.axes.strides[1][0] = 1;
  copy.to_dtype = call.c.dtype;
  copy.from_dtype = given;
  copy.to = storage.data();
  copy.from = call.bias;
  data_kernels(current()).copy(copy);
  return storage.data();
}

/// All but the activation.
void linear_part(GemmCall call) {
  if (call.k == 0) return finish({call, nullptr, DType::f32});
  const DType in = call.a.dtype == call.b.dtype ? call.a.dtype : DType::f32;
  const Operand left(call, call.a, call.m, call.k, in), right(call, call.b, call.k, call.n, in);
  const bool has_form = in == call.c.dtype || (in == DType::bf16 && call.c.dtype == DType::f32);
  if (has_form && call.bias_kind != GemmBias::per_row) {
    Storage bias;
    if (call.bias_kind == GemmBias::per_column) call.bias = bias_for_epilogue(call, bias);
    return multiply(call, left, right);
  }
  // Computes a packed f32 (or f64) intermediate, which a kernel then finishes.
  const DType wide = acc_dtype(in);
  GemmCall product = call;
  const Storage sums = temporary(batch_count(call) * call.m * call.n, wide);
  product.c = {sums.data(), wide, call.n, {}};
  std::int64_t stride = call.m * call.n;
  for (int axis = kGemmBatchAxes - 1; axis >= 0; --axis) {
    product.c.batch[axis] = stride;
    stride *= call.batch[axis];
  }
  product.addend = nullptr;
  product.bias_kind = GemmBias::none;
  multiply(product, left, right);
  finish({call, sums.data(), wide});
}

}  // namespace

void gemm(const GemmCall& asked) {
  if (asked.m == 0 || asked.n == 0 || batch_count(asked) == 0) return;
  GemmCall call = asked;
  merge_batch(call);
  if (call.activation == GemmActivation::none) return linear_part(call);
  if (call.pre_activation != nullptr) call.c.data = call.pre_activation;
  linear_part(call);
  activate(asked, call.c.data);
}

namespace {

/// The intermediate between the two products exists only during this call.
void gemm_pair(const GemmPairCall& pair) {
  GemmPairCall call = pair;
  const Storage middle = temporary(call.first.m * call.first.n, call.first.c.dtype);
  call.first.c.data = middle.data();
  call.first.c.row = call.first.n;
  call.second.a = {middle.data(), call.first.c.dtype, call.first.n, 1, {}};
  gemm(call.first);
  gemm(call.second);
}

}  // namespace

extern const GemmKernels gemm_kernels{gemm,
                                      gemm_pair,
                                      column_sums,
                                      images_to_rows,
                                      rows_to_images,
                                      gelu_grad,
                                      /*takes_bf16_bias=*/true};

}  // namespace fovea::ops::cuda
