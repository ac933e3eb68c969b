// cuBLASLt on the CPU: checks each call against the documented rules, and computes plainly, in f64,
// rounded once.
#include "cublasLt.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/dtype.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/fake/fake.h"

using fovea::bf16;
using fovea::emulate::ByteState;
using fovea::emulate::DeviceMemory;
using fovea::emulate::Memory;
using fovea::fake::Queues;

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  int bias_type = -1;  ///< as D's unless set
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct cublasLtMatmulPreferenceOpaque_t {
  std::uint64_t workspace = 0;
  std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};

namespace {

/// What the heuristic was told, kept in the algorithm that it gave.
struct Told {
  std::uint32_t magic, alignment[4], epilogue, transposed, compute;
  std::uint64_t shapes, workspace;
};
static_assert(std::is_trivially_copyable_v<Told> && sizeof(Told) <= sizeof(cublasLtMatmulAlgo_t));
constexpr std::uint32_t kMagic = 0x1e7a160;

cublasStatus_t refuse(const std::string& why) {
  Queues::instance().report("cublasLt: " + why);
  return CUBLAS_STATUS_INVALID_VALUE;
}

std::size_t size_of(cudaDataType_t type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

template <class T>
bool take(T& to, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return false;
  std::memcpy(&to, value, bytes);
  return true;
}

std::uint64_t hash(std::uint64_t seed, std::uint64_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29);
}

std::uint64_t hash(const cublasLtMatrixLayoutOpaque_t& x) {
  std::uint64_t all = x.type;
  for (const std::uint64_t part : {x.rows, x.columns, std::uint64_t(x.leading),
                                   std::uint64_t(x.batch), std::uint64_t(x.stride)}) {
    all = hash(all, part);
  }
  return all;
}

/// The sizes of a product and its four matrices.
struct Call {
  const cublasLtMatmulDescOpaque_t& operation;
  const cublasLtMatrixLayoutOpaque_t &a, &b, &c, &d;

  [[nodiscard]] std::uint64_t m() const { return d.rows; }
  [[nodiscard]] std::uint64_t n() const { return d.columns; }
  [[nodiscard]] std::uint64_t k() const {
    return operation.transa == CUBLAS_OP_N ? a.columns : a.rows;
  }
  [[nodiscard]] std::uint64_t shapes() const {
    return hash(hash(hash(hash(0, hash(a)), hash(b)), hash(c)), hash(d));
  }
  [[nodiscard]] std::string objection() const;
};

std::string Call::objection() const {
  for (const auto* x : {&a, &b, &c, &d}) {
    if (x->rows == 0 || x->columns == 0) return "a matrix without elements";
    if (x->leading < static_cast<std::int64_t>(x->rows)) {
      return "a leading dimension of " + std::to_string(x->leading) + " below " +
             std::to_string(x->rows) + " rows";
    }
    if (x->batch != d.batch) return "batches of different sizes";
  }
  const bool ta = operation.transa != CUBLAS_OP_N, tb = operation.transb != CUBLAS_OP_N;
  const std::uint64_t m_of_a = ta ? a.columns : a.rows, k_of_b = tb ? b.columns : b.rows;
  const std::uint64_t n_of_b = tb ? b.rows : b.columns;
  if (m_of_a != m() || k_of_b != k() || n_of_b != n()) return "shapes that do not fit";
  if (hash(c) != hash(d)) return "C and D of different form";
  const bool all64 = a.type == CUDA_R_64F && b.type == a.type && d.type == a.type;
  const bool all32 = a.type == CUDA_R_32F && b.type == a.type && d.type == a.type;
  const bool bf = a.type == CUDA_R_16BF && b.type == a.type && d.type != CUDA_R_64F;
  const bool is_f64 = operation.compute == CUBLAS_COMPUTE_64F;
  if (is_f64 ? !all64 : !all32 && !bf) return "types that no kernel has";
  if (operation.scale != (is_f64 ? CUDA_R_64F : CUDA_R_32F)) return "scalars of the wrong type";
  if (operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && !all32) return "TF32 of other than f32";
  const auto block =
      static_cast<std::int64_t>(d.columns - 1) * d.leading + static_cast<std::int64_t>(d.rows);
  if (d.batch > 1 && d.stride < block) return "results of a batch that overlap";
  if (operation.epilogue == CUBLASLT_EPILOGUE_BIAS && operation.bias_type >= 0 &&
      operation.bias_type != static_cast<int>(d.type)) {
    return "a bias of another type than D";
  }
  return {};
}

double load(const void* data, cudaDataType_t type, std::int64_t at) {
  if (type == CUDA_R_64F) return static_cast<const double*>(data)[at];
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[at];
  return static_cast<float>(static_cast<const bf16*>(data)[at]);
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

/// Ten bits behind the point, ties away from zero, as the tensor cores' conversion has it.
double to_tf32(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  bits = (bits + 0x1000u) & ~0x1fffu;
  return std::bit_cast<float>(bits);
}

/// Bytes of one matrix of a batch that are not in the wanted state.
std::string bytes_wrong(const char* name, const void* data, std::size_t element, std::uint64_t rows,
                        std::uint64_t columns, std::int64_t leading, bool is_read) {
  const Memory& memory = DeviceMemory::instance().bytes();
  for (std::uint64_t j = 0; j < columns; ++j) {
    const auto* const first =
        static_cast<const std::byte*>(data) + j * static_cast<std::uint64_t>(leading) * element;
    if (!memory.holds(first)) return std::string(name) + " is not memory of a device";
    for (std::size_t i = 0; i < rows * element; ++i) {
      const ByteState state = memory.state(memory.offset_of(first) + i);
      const bool ok = state == ByteState::valid || (!is_read && state == ByteState::undefined);
      if (ok) continue;
      return std::string(name) +
             (state == ByteState::freed       ? " was freed, "
              : state == ByteState::undefined ? " was never written, "
                                              : " is out of bounds, ") +
             DeviceMemory::instance().place_of(memory.offset_of(first) + i);
    }
  }
  return {};
}

/// All that a product needs when its turn comes.
struct Product {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, d;
  double alpha, beta;
  const void *at_a, *at_b, *at_c;
  void *at_d, *workspace;
  std::size_t workspace_bytes;

  [[nodiscard]] std::string run() const;

 private:
  [[nodiscard]] std::string run_entry(std::int64_t entry, std::vector<double>& result) const;
  static std::vector<double> read(const cublasLtMatrixLayoutOpaque_t& x, const void* data,
                                  bool transposed, bool tf32);
};

const void* entry_of(const void* data, const cublasLtMatrixLayoutOpaque_t& x, std::int64_t entry) {
  return static_cast<const std::byte*>(data) +
         entry * x.stride * static_cast<std::int64_t>(size_of(x.type));
}

/// op(x), row-major.
std::vector<double> Product::read(const cublasLtMatrixLayoutOpaque_t& x, const void* data,
                                  bool transposed, bool tf32) {
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

std::string Product::run_entry(std::int64_t entry, std::vector<double>& result) const {
  const void *pa = entry_of(at_a, a, entry), *pb = entry_of(at_b, b, entry);
  const void *pc = entry_of(at_c, d, entry), *pd = entry_of(at_d, d, entry);
  std::string wrong = bytes_wrong("A", pa, size_of(a.type), a.rows, a.columns, a.leading, true);
  if (wrong.empty())
    wrong = bytes_wrong("B", pb, size_of(b.type), b.rows, b.columns, b.leading, true);
  if (wrong.empty())
    wrong = bytes_wrong("D", pd, size_of(d.type), d.rows, d.columns, d.leading, false);
  if (wrong.empty() && beta != 0)
    wrong = bytes_wrong("C", pc, size_of(d.type), d.rows, d.columns, d.leading, true);
  if (!wrong.empty()) return wrong;
  const bool tf32 = operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const std::vector<double> left = read(a, pa, operation.transa != CUBLAS_OP_N, tf32);
  const std::vector<double> right = read(b, pb, operation.transb != CUBLAS_OP_N, tf32);
  const std::size_t m = d.rows, n = d.columns, k = left.size() / m;
  result.assign(m * n, 0);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      const double value = left[i * k + p];
      for (std::size_t j = 0; j < n; ++j) result[i * n + j] += value * right[p * n + j];
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < m; ++i) {
      const auto at = static_cast<std::int64_t>(i + j * std::size_t(d.leading));
      double& value = result[i * n + j];
      value *= alpha;
      if (beta != 0) value += beta * load(pc, d.type, at);
      if (operation.epilogue == CUBLASLT_EPILOGUE_BIAS) {
        value += load(operation.bias, d.type, static_cast<std::int64_t>(i));
      }
    }
  }
  return {};
}

std::string Product::run() const {
  const Memory& memory = DeviceMemory::instance().bytes();
  std::string wrong;
  if (operation.epilogue == CUBLASLT_EPILOGUE_BIAS) {
    wrong = bytes_wrong("the bias", operation.bias, size_of(d.type), d.rows, 1, 0, true);
  }
  if (wrong.empty() && workspace != nullptr) {
    wrong = bytes_wrong("the workspace", workspace, 1, workspace_bytes, 1, 0, false);
  }
  std::vector<std::vector<double>> results(static_cast<std::size_t>(d.batch));
  for (std::int64_t entry = 0; entry < d.batch && wrong.empty(); ++entry) {
    wrong = run_entry(entry, results[static_cast<std::size_t>(entry)]);
  }
  if (!wrong.empty()) return "matmul: " + wrong;
  if (workspace != nullptr) {  // what lay there is gone
    std::memset(workspace, 0xcd, workspace_bytes);
    memory.set(memory.offset_of(workspace), workspace_bytes, ByteState::undefined);
  }
  // All is read before anything is written: a D that lies over A or B must not seem to work.
  for (std::int64_t entry = 0; entry < d.batch; ++entry) {
    auto* const out = static_cast<std::byte*>(const_cast<void*>(entry_of(at_d, d, entry)));
    for (std::size_t j = 0; j < d.columns; ++j) {
      for (std::size_t i = 0; i < d.rows; ++i) {
        const std::size_t at = i + j * static_cast<std::size_t>(d.leading);
        store(out, d.type, static_cast<std::int64_t>(at),
              results[static_cast<std::size_t>(entry)][i * d.columns + j]);
        memory.set(memory.offset_of(out + at * size_of(d.type)), size_of(d.type), ByteState::valid);
      }
    }
  }
  return {};
}

bool overlap(const void* x, const cublasLtMatrixLayoutOpaque_t& lx, const void* d,
             const cublasLtMatrixLayoutOpaque_t& ld) {
  const auto range = [](const void* data, const cublasLtMatrixLayoutOpaque_t& l) {
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    const auto count = std::uint64_t(l.batch - 1) * std::uint64_t(l.stride) +
                       (l.columns - 1) * std::uint64_t(l.leading) + l.rows;
    return std::pair(first, first + count * size_of(l.type));
  };
  const auto [a, b] = range(x, lx);
  const auto [c, e] = range(d, ld);
  return a < e && c < b;
}

}  // namespace

extern "C" {

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "CUBLAS_STATUS_NOT_SUPPORTED";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  *descriptor = new cublasLtMatmulDescOpaque_t{compute, scale};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  bool ok = false;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      ok = take(descriptor->transa, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      ok = take(descriptor->transb, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      ok = take(descriptor->epilogue, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      ok = take(descriptor->bias, value, bytes);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      ok = take(descriptor->bias_type, value, bytes);
      break;
  }
  return ok ? CUBLAS_STATUS_SUCCESS : refuse("an attribute of the wrong size");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  const bool ok = attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
                      ? take(layout->batch, value, bytes)
                      : take(layout->stride, value, bytes);
  return ok ? CUBLAS_STATUS_SUCCESS : refuse("an attribute of the wrong size");
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  bool ok = false;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    ok = take(preference->workspace, value, bytes);
  } else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
    ok = take(preference->schemes, value, bytes);
  } else {
    ok = take(preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
              bytes);
  }
  return ok ? CUBLAS_STATUS_SUCCESS : refuse("an attribute of the wrong size");
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  const std::lock_guard lock(Queues::instance().mutex);
  const Call call{*descriptor, *a, *b, *c, *d};
  const std::string why = call.objection();
  *found = 0;
  if (!why.empty()) return refuse(why);
  if (wanted < 1) return refuse("no algorithm is asked for");
  const std::uint32_t in_output_type =
      CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  if ((preference->schemes & in_output_type) != 0) {
    return refuse("partial sums may be added in the output's type");
  }
  Told told{};
  told.magic = kMagic;
  std::memcpy(told.alignment, preference->alignment, sizeof told.alignment);
  told.epilogue = descriptor->epilogue;
  told.transposed = 2u * descriptor->transa + descriptor->transb;
  told.compute = descriptor->compute;
  told.shapes = call.shapes();
  told.workspace = preference->workspace;
  results[0] = {};
  std::memcpy(results[0].algo.data, &told, sizeof told);
  results[0].workspaceSize = preference->workspace;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t descriptor, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  Queues& queues = Queues::instance();
  const std::lock_guard lock(queues.mutex);
  const Call call{*descriptor, *layout_a, *layout_b, *layout_c, *layout_d};
  const std::string why = call.objection();
  if (!why.empty()) return refuse(why);
  if (!queues.knows(stream)) return refuse("a product on the legacy stream");
  Told told{};
  std::memcpy(&told, algorithm->data, sizeof told);
  if (told.magic != kMagic) return refuse("an algorithm that no heuristic gave");
  if (told.shapes != call.shapes() ||
      told.epilogue != static_cast<std::uint32_t>(descriptor->epilogue) ||
      told.compute != static_cast<std::uint32_t>(descriptor->compute) ||
      told.transposed != 2u * descriptor->transa + descriptor->transb) {
    return refuse("an algorithm that was chosen for another product");
  }
  if (workspace_bytes < told.workspace) return refuse("a workspace smaller than the heuristic's");
  const void* const pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<std::uintptr_t>(pointers[i]) % told.alignment[i] == 0) continue;
    return refuse(std::string("pointer ") + "ABCD"[i] + " is less aligned than the heuristic's " +
                  std::to_string(told.alignment[i]) + " bytes");
  }
  if (descriptor->epilogue == CUBLASLT_EPILOGUE_BIAS &&
      (descriptor->bias == nullptr ||
       reinterpret_cast<std::uintptr_t>(descriptor->bias) % 16 != 0)) {
    return refuse("a bias that is missing or not aligned to 16 bytes");
  }
  if (overlap(a, *layout_a, d, *layout_d) || overlap(b, *layout_b, d, *layout_d)) {
    return refuse("D lies over an operand");
  }
  const bool f64 = descriptor->scale == CUDA_R_64F;
  const auto scalar = [&](const void* at) { return load(at, f64 ? CUDA_R_64F : CUDA_R_32F, 0); };
  const Product product{
      *descriptor, *layout_a, *layout_b, *layout_d, scalar(alpha), scalar(beta),
      a,           b,         c,         d,         workspace,     workspace_bytes};
  ++queues.counts.products;
  queues.add(stream, {[product] { return product.run(); }, nullptr, nullptr});
  return CUBLAS_STATUS_SUCCESS;
}
}
