// Gathering fragments into matrices and scattering them again ("Matrix Fragments for
// mma.m16n8k16", "... m16n8k8" and "ldmatrix" of the PTX manual).
#include "tests/cuda/emulator/tensor_core.h"

#include <bit>
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

void compute_mma(const Machine::Records& records) {
  const Mma kind = static_cast<const MmaRecord*>(records[0])->kind;
  const unsigned in_word = kind == Mma::bf16 ? 2 : 1;
  double a[16][16] = {}, b[16][8] = {};
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& own = *static_cast<const MmaRecord*>(records[lane]);
    const unsigned group = lane / 4, in_group = lane % 4;
    for (unsigned half = 0; half < in_word; ++half) {
      const unsigned k = in_group * in_word + half, next = 4 * in_word;  // the words' first columns
      for (unsigned word = 0; word < 4; ++word) {
        a[group + 8 * (word % 2)][k + next * (word / 2)] = element(kind, own.a[word], half);
      }
      for (unsigned word = 0; word < 2; ++word) {
        b[k + next * word][group] = element(kind, own.b[word], half);
      }
    }
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& own = *static_cast<const MmaRecord*>(records[lane]);
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      double sum = own.d[i];
      for (unsigned k = 0; k < 8 * in_word; ++k) sum += a[row][k] * b[k][column];
      own.d[i] = static_cast<float>(sum);
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
  Machine::instance().meet("mma.sync", kAll, &record, compute_mma);
}

void load_matrices(std::uint32_t (&words)[4], const void* row, bool transposed) {
  Machine& machine = Machine::instance();
  if (!machine.is_shared(row)) machine.fail("loads a matrix from what is no shared memory");
  machine.access(row, 16, Access::read, __builtin_return_address(0));
  LoadRecord record{words, static_cast<const std::byte*>(row), transposed};
  machine.meet("ldmatrix", kAll, &record, compute_load);
}

}  // namespace fovea::emulate
