// cuBLASLt's GEMM on the CPU: checks of the documented rules, and plain loops.
#include "tests/cuda/fake/product.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/dtype.h"
#include "tests/cuda/emulator/memory.h"

namespace fovea::fake {
namespace {

using emulate::ByteState;
using emulate::DeviceMemory;
using emulate::Memory;

std::size_t size_of(cudaDataType_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : type == CUDA_R_16BF ? 2 : 1;
}

std::uint64_t hash(std::uint64_t seed, std::uint64_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29);
}

std::uint64_t hash(const Matrix& x) {
  std::uint64_t all = x.type;
  for (const std::uint64_t part : {x.rows, x.columns, std::uint64_t(x.leading),
                                   std::uint64_t(x.batch), std::uint64_t(x.stride)}) {
    all = hash(all, part);
  }
  return all;
}

std::string objection_to_shapes(const ProductForm& form) {
  for (const Matrix* x : {&form.a, &form.b, &form.c, &form.d}) {
    if (x->rows == 0 || x->columns == 0) return "a matrix without elements";
    if (x->leading < static_cast<std::int64_t>(x->rows)) {
      return "a leading dimension of " + std::to_string(x->leading) + " below " +
             std::to_string(x->rows) + " rows";
    }
    if (x->batch != form.d.batch) return "batches of different sizes";
  }
  const bool ta = form.operation.transa != CUBLAS_OP_N, tb = form.operation.transb != CUBLAS_OP_N;
  const std::uint64_t m = ta ? form.a.columns : form.a.rows, k = ta ? form.a.rows : form.a.columns;
  const std::uint64_t k_of_b = tb ? form.b.columns : form.b.rows;
  const std::uint64_t n = tb ? form.b.rows : form.b.columns;
  if (m != form.d.rows || k_of_b != k || n != form.d.columns) return "shapes that do not fit";
  if (hash(form.c) != hash(form.d)) return "C and D of different form";
  const auto block = static_cast<std::int64_t>(form.d.columns - 1) * form.d.leading +
                     static_cast<std::int64_t>(form.d.rows);
  if (form.d.batch > 1 && form.d.stride < block) return "results of a batch that overlap";
  return {};
}

std::string objection_to_types(const ProductForm& form) {
  const Operation& operation = form.operation;
  const bool alike = form.a.type == form.b.type && form.a.type == form.d.type;
  const bool all32 = alike && form.a.type == CUDA_R_32F;
  const bool bf =
      form.a.type == CUDA_R_16BF && form.b.type == form.a.type && form.d.type != CUDA_R_64F;
  const bool is_f64 = operation.compute == CUBLAS_COMPUTE_64F;
  if (is_f64 ? !alike || form.a.type != CUDA_R_64F : !all32 && !bf) {
    return "types that no kernel has";
  }
  if (operation.scale != (is_f64 ? CUDA_R_64F : CUDA_R_32F)) return "scalars of the wrong type";
  if (operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && !all32) return "TF32 of other than f32";
  if (operation.epilogue == CUBLASLT_EPILOGUE_BIAS && operation.bias_type >= 0 &&
      operation.bias_type != static_cast<int>(form.d.type)) {
    return "a bias of another type than D";
  }
  return {};
}

void store(void* data, cudaDataType_t type, std::int64_t at, double value) {
  if (type == CUDA_R_64F) {
    static_cast<double*>(data)[at] = value;
  } else if (type == CUDA_R_32F) {
    static_cast<float*>(data)[at] = static_cast<float>(value);
  } else {
    static_cast<bf16*>(data)[at] = bf16(static_cast<float>(value));
  }
}

/// Rounds to ten fraction bits, ties away from zero, like the tensor cores' conversion.
double to_tf32(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  bits = (bits + 0x1000u) & ~0x1fffu;
  return std::bit_cast<float>(bits);
}

/// Bytes of one matrix of a batch that are in the wrong state.
std::string wrong_bytes(const char* name, const void* data, const Matrix& x, bool is_read) {
  const Memory& memory = DeviceMemory::instance().bytes();
  const std::size_t element = size_of(x.type);
  for (std::uint64_t j = 0; j < x.columns; ++j) {
    const auto* const first =
        static_cast<const std::byte*>(data) + j * static_cast<std::uint64_t>(x.leading) * element;
    if (!memory.holds(first)) return std::string(name) + " is not memory of a device";
    const std::size_t begin = memory.offset_of(first);
    for (std::size_t i = 0; i < x.rows * element;) {
      i += memory.first_not(ByteState::valid, begin + i, x.rows * element - i);
      if (i == x.rows * element) break;
      const ByteState state = memory.state(begin + i);
      if (!is_read && state == ByteState::undefined) {
        i += memory.first_not(state, begin + i, x.rows * element - i);
        continue;
      }
      return std::string(name) +
             (state == ByteState::freed       ? " was freed, "
              : state == ByteState::undefined ? " was never written, "
                                              : " is out of bounds, ") +
             DeviceMemory::instance().place_of(begin + i);
    }
  }
  return {};
}

const void* entry_of(const void* data, const Matrix& x, std::int64_t entry) {
  return static_cast<const std::byte*>(data) +
         entry * x.stride * static_cast<std::int64_t>(size_of(x.type));
}

/// op(x) in row-major order.
std::vector<double> read(const Matrix& x, const void* data, bool transposed, bool tf32) {
  std::vector<double> values(x.rows * x.columns);
  for (std::uint64_t j = 0; j < x.columns; ++j) {
    for (std::uint64_t i = 0; i < x.rows; ++i) {
      const double v =
          load(data, x.type, static_cast<std::int64_t>(i + j * std::uint64_t(x.leading)));
      values[transposed ? j * x.rows + i : i * x.columns + j] = tf32 ? to_tf32(v) : v;
    }
  }
  return values;
}

bool overlap(const void* x, const Matrix& of_x, const void* y, const Matrix& of_y) {
  const auto range = [](const void* data, const Matrix& m) {
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    const auto count = std::uint64_t(m.batch - 1) * std::uint64_t(m.stride) +
                       (m.columns - 1) * std::uint64_t(m.leading) + m.rows;
    return std::pair(first, first + count * size_of(m.type));
  };
  const auto [x_first, x_end] = range(x, of_x);
  const auto [y_first, y_end] = range(y, of_y);
  return x_first < y_end && y_first < x_end;
}

}  // namespace

std::vector<CountedProduct>& products_counted() {
  static auto& products = *new std::vector<CountedProduct>;
  return products;
}

double load(const void* data, cudaDataType_t type, std::int64_t at) {
  if (type == CUDA_R_64F) return static_cast<const double*>(data)[at];
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[at];
  return static_cast<float>(static_cast<const bf16*>(data)[at]);
}

std::uint64_t ProductForm::shapes() const {
  return hash(hash(hash(hash(0, hash(a)), hash(b)), hash(c)), hash(d));
}

std::string ProductForm::objection() const {
  const std::string to_shapes = objection_to_shapes(*this);
  return to_shapes.empty() ? objection_to_types(*this) : to_shapes;
}

std::int64_t Product::bytes() const {
  const auto of = [](const Matrix& x) {
    const std::uint64_t entries = x.stride == 0 ? 1 : static_cast<std::uint64_t>(x.batch);
    return entries * x.rows * x.columns * size_of(x.type);
  };
  std::uint64_t all = of(form.a) + of(form.b) + of(form.d) + (beta == 0 ? 0 : of(form.c));
  if (has_bias()) all += form.d.rows * size_of(form.d.type);
  return static_cast<std::int64_t>(all);
}

bool Product::lies_over_an_operand() const {
  return overlap(a, form.a, d, form.d) || overlap(b, form.b, d, form.d);
}

std::string Product::wrong_memory() const {
  const Matrix bias{form.d.type, form.d.rows, 1, static_cast<std::int64_t>(form.d.rows)};
  const Matrix room{CUDA_R_8I, workspace_bytes, 1, static_cast<std::int64_t>(workspace_bytes)};
  std::string wrong;
  if (has_bias()) wrong = wrong_bytes("the bias", form.operation.bias, bias, true);
  if (wrong.empty() && workspace != nullptr) {
    wrong = wrong_bytes("the workspace", workspace, room, false);
  }
  for (std::int64_t entry = 0; entry < form.d.batch && wrong.empty(); ++entry) {
    const auto look = [&](const char* name, const void* data, const Matrix& x, bool is_read) {
      if (wrong.empty()) wrong = wrong_bytes(name, entry_of(data, x, entry), x, is_read);
    };
    look("A", a, form.a, true);
    look("B", b, form.b, true);
    look("D", d, form.d, false);
    if (beta != 0) look("C", c, form.c, true);
  }
  return wrong;
}

/// One matrix of the batch in row-major order.
std::vector<double> Product::result_of(std::int64_t entry) const {
  const Operation& op = form.operation;
  const bool tf32 = op.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const std::vector<double> left =
      read(form.a, entry_of(a, form.a, entry), op.transa != CUBLAS_OP_N, tf32);
  const std::vector<double> right =
      read(form.b, entry_of(b, form.b, entry), op.transb != CUBLAS_OP_N, tf32);
  const void* const addend = entry_of(c, form.c, entry);
  const std::size_t m = form.d.rows, n = form.d.columns, k = left.size() / m;
  std::vector<double> result(m * n, 0);
  constexpr std::size_t kRows = 8;  // that share a row of `right` while it is in the cache
  for (std::size_t first = 0; first < m; first += kRows) {
    for (std::size_t p = 0; p < k; ++p) {
      for (std::size_t i = first; i < std::min(m, first + kRows); ++i) {
        const double value = left[i * k + p];
        for (std::size_t j = 0; j < n; ++j) result[i * n + j] += value * right[p * n + j];
      }
    }
  }
  for (std::size_t i = 0; i < m; ++i) {
    const double bias = has_bias() ? load(op.bias, form.d.type, static_cast<std::int64_t>(i)) : 0;
    for (std::size_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::int64_t>(i + j * std::size_t(form.d.leading));
      double& value = result[i * n + j];
      value = alpha * value + (beta != 0 ? beta * load(addend, form.d.type, at) : 0) + bias;
    }
  }
  return result;
}

std::string Product::run() const {
  const std::string wrong = wrong_memory();
  if (!wrong.empty()) return "matmul: " + wrong;
  // Reads everything before writing, so that a D that overlaps A or B does not seem to work.
  std::vector<std::vector<double>> results;
  for (std::int64_t entry = 0; entry < form.d.batch; ++entry) results.push_back(result_of(entry));
  const Memory& memory = DeviceMemory::instance().bytes();
  if (workspace != nullptr) {  // the workspace is overwritten
    std::memset(workspace, 0xcd, workspace_bytes);
    memory.set(memory.offset_of(workspace), workspace_bytes, ByteState::undefined);
  }
  const std::size_t element = size_of(form.d.type);
  for (std::int64_t entry = 0; entry < form.d.batch; ++entry) {
    auto* const out = static_cast<std::byte*>(const_cast<void*>(entry_of(d, form.d, entry)));
    for (std::size_t j = 0; j < form.d.columns; ++j) {
      for (std::size_t i = 0; i < form.d.rows; ++i) {
        const std::size_t at = i + j * static_cast<std::size_t>(form.d.leading);
        store(out, form.d.type, static_cast<std::int64_t>(at),
              results[static_cast<std::size_t>(entry)][i * form.d.columns + j]);
        memory.set(memory.offset_of(out + at * element), element, ByteState::valid);
      }
    }
  }
  return {};
}

}  // namespace fovea::fake
