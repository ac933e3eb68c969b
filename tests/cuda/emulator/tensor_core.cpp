// Gathering fragments into matrices and scattering them again ("Matrix Fragments for
// mma.m16n8k16", "... m16n8k8" and "ldmatrix" of the PTX manual).
#include "tests/cuda/emulator/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tests/cuda/emulator/machine.h"

namespace fovea::emulate {
namespace {

constexpr std::uint32_t kAll = 0xffffffffu;

struct MmaRecord {
  Mma kind;
  float* d;
  const std::uint32_t *a, *b;
};

float element(Mma kind, std::uint32_t word, unsigned half) {
  if (kind == Mma::tf32) return std::bit_cast<float>(word & ~0x1fffu);
  return std::bit_cast<float>(half == 0 ? word << 16 : word & 0xffff0000u);
}

/// Cuts off what lies below the last place of an f32 with the exponent of `largest`, not zero.
class LastPlace {
 public:
  explicit LastPlace(double largest) {
    const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(largest) >> 52 & 0x7ff);
    const int exponent = std::max(biased - 1023, -126) - 23;
    unit_ = power_of_two(exponent);
    inverse_ = power_of_two(-exponent);
  }
  [[nodiscard]] double cut(double x) const {
    return static_cast<double>(static_cast<std::int64_t>(x * inverse_)) * unit_;
  }

 private:
  static double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  }

  double unit_, inverse_;
};

constexpr unsigned kDepth = 16;  ///< products of a sum; the second half is zero in tf32

/// A sum whose terms are cut off at the last place of the largest one.
float cut_sum(float d, const double* a, const double* b) {
  double terms[kDepth];
  for (unsigned k = 0; k < kDepth; ++k) terms[k] = a[k] * b[k];
  double largest = std::abs(static_cast<double>(d));
  for (unsigned k = 0; k < kDepth; ++k) largest = std::max(largest, std::abs(terms[k]));
  if (largest == 0) return 0;
  const LastPlace of_terms(largest);
  double sum = of_terms.cut(d);
  for (unsigned k = 0; k < kDepth; ++k) sum += of_terms.cut(terms[k]);
  return sum == 0 ? 0 : static_cast<float>(LastPlace(sum).cut(sum));
}

void compute_mma(const Machine::Records& records) {
  const Mma kind = static_cast<const MmaRecord*>(records[0])->kind;
  const unsigned in_word = kind == Mma::bf16 ? 2 : 1;
  double a[16][kDepth] = {}, b[8][kDepth] = {};  // rows of A, columns of B
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& own = *static_cast<const MmaRecord*>(records[lane]);
    const unsigned group = lane / 4, in_group = lane % 4;
    for (unsigned half = 0; half < in_word; ++half) {
      const unsigned k = in_group * in_word + half, next = 4 * in_word;  // the words' first columns
      for (unsigned word = 0; word < 4; ++word) {
        a[group + 8 * (word % 2)][k + next * (word / 2)] = element(kind, own.a[word], half);
      }
      for (unsigned word = 0; word < 2; ++word) {
        b[group][k + next * word] = element(kind, own.b[word], half);
      }
    }
  }
  const bool cuts = Machine::instance().rounding != 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& own = *static_cast<const MmaRecord*>(records[lane]);
    const double* const rows[] = {a[lane / 4], a[lane / 4 + 8]};
    const double* const columns[] = {b[lane % 4 * 2], b[lane % 4 * 2 + 1]};
    double sums[4] = {own.d[0], own.d[1], own.d[2], own.d[3]};
    for (unsigned k = 0; k < kDepth; ++k) {  // four at once: a sum waits for each of its terms
      for (unsigned i = 0; i < 4; ++i) sums[i] += rows[i / 2][k] * columns[i % 2][k];
    }
    for (unsigned i = 0; i < 4; ++i) {
      own.d[i] = cuts && std::isfinite(sums[i]) ? cut_sum(own.d[i], rows[i / 2], columns[i % 2])
                                                : static_cast<float>(sums[i]);
    }
  }
}

struct LoadRecord {
  std::uint32_t* words;
  const std::byte* row;
  bool transposed;
};

void compute_load(const Machine::Records& records) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& own = *static_cast<const LoadRecord*>(records[lane]);
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      std::uint16_t pair[2];
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned across = lane / 4, along = lane % 4 * 2 + half;
        const unsigned row = own.transposed ? along : across;
        const unsigned column = own.transposed ? across : along;
        const auto& owner = *static_cast<const LoadRecord*>(records[8 * matrix + row]);
        std::memcpy(&pair[half], owner.row + 2 * column, 2);
      }
      own.words[matrix] = pair[0] | static_cast<std::uint32_t>(pair[1]) << 16;
    }
  }
}

}  // namespace

void mma(Mma kind, float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  MmaRecord record{kind, d, a, b};
  Machine& machine = Machine::instance();
  machine.require_capability("mma.sync of bf16 and TF32", 80);
  machine.meet("mma.sync", kAll, &record, compute_mma);
  if (machine.lane() == 0) machine.count_mma(kind == Mma::tf32);
}

void load_matrices(std::uint32_t (&words)[4], const void* row, bool transposed) {
  Machine& machine = Machine::instance();
  if (!machine.is_shared(row)) machine.fail("loads a matrix from what is no shared memory");
  machine.access(row, 16, Access::read, __builtin_return_address(0));
  LoadRecord record{words, static_cast<const std::byte*>(row), transposed};
  machine.meet("ldmatrix", kAll, &record, compute_load);
}

std::uint32_t round_to_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::isfinite(x) ? (bits + 0x1000u) & ~0x1fffu : bits;
}

float exponential(float x) {
  Machine::instance().count_exponential();
  return static_cast<float>(std::exp(static_cast<double>(x)));
}

float approximate_exp2(float x) {
  Machine::instance().count_exponential();
  const auto y = static_cast<float>(std::exp2(static_cast<double>(x)));
  const bool is_normal = std::isnormal(y);
  const std::uint64_t seed = Machine::instance().rounding;
  if (!is_normal) return std::fpclassify(y) == FP_SUBNORMAL ? 0 : y;
  if (seed == 0) return y;
  const std::uint64_t hash = (std::bit_cast<std::uint32_t>(x) + seed) * 0x9e3779b97f4a7c15u;
  const float away = (hash >> 63) != 0 ? INFINITY : 0;
  return std::nextafter(std::nextafter(y, away), away);
}

}  // namespace fovea::emulate
