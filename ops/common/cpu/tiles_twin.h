// Tile registers with the bits of AMX's, in memory.
#pragma once

#include <cstdint>

#include "ops/common/cpu/flush_subnormals.h"
#include "ops/common/cpu/multiply_add.h"
#include "ops/common/cpu/tile_counts.h"

namespace fovea::ops::cpu::FOVEA_ISA {

class TwinTiles {
 public:
  template <int kTo>
  void clear() {
    tiles_[kTo] = {};
  }
  /// Loads 16 rows of 16 words, `row` words apart.
  template <int kTo, class Word>
  void load(const Word* from, std::int64_t row) {
    ++tile_counts().loads;
    for (int i = 0; i < kSide; ++i) copy_row(from + i * row, tiles_[kTo].row[i]);
  }
  template <int kFrom>
  void store(float* to, std::int64_t row) const {
    ++tile_counts().stores;
    for (int i = 0; i < kSide; ++i) copy_row(tiles_[kFrom].row[i], to + i * row);
  }

  /// sum += a b as TDPBF16PS does it: for every element of the sum a chain of multiply-adds from
  /// zero over the even elements of the depth and one over the odd ones; both together are added to
  /// the sum. Rounds to nearest even; subnormal numbers are read and written as zero.
  template <int kSum, int kA, int kB>
  void add_product() {
    ++tile_counts().products;
    const FlushSubnormals flush;
    const Halves a(tiles_[kA]), b(tiles_[kB]);
    for (int i = 0; i < kSide; i += kRowsAtOnce) {
      Floats even[kRowsAtOnce][kVectors] = {}, odd[kRowsAtOnce][kVectors] = {};
      for (int k = 0; k < kSide; ++k) {
        for (int j = 0; j < kVectors; ++j) {
          const auto even_b = FOVEA_ISA::load<Floats>(b.even[k] + j * kWidth);
          const auto odd_b = FOVEA_ISA::load<Floats>(b.odd[k] + j * kWidth);
          for (int r = 0; r < kRowsAtOnce; ++r) {
            even[r][j] = FOVEA_ISA::add_product(even[r][j], a.even[i + r][k], even_b);
            odd[r][j] = FOVEA_ISA::add_product(odd[r][j], a.odd[i + r][k], odd_b);
          }
        }
      }
      for (int r = 0; r < kRowsAtOnce; ++r) {
        for (int j = 0; j < kVectors; ++j) {
          float* const sum = tiles_[kSum].row[i + r] + j * kWidth;
          FOVEA_ISA::store(sum, FOVEA_ISA::load<Floats>(sum) + (even[r][j] + odd[r][j]));
        }
      }
    }
  }

 private:
  using Floats = Vector<float>;
  static constexpr int kSide = 16, kWidth = kLanes<float>, kVectors = kSide / kWidth;
  static constexpr int kRowsAtOnce = 2;

  /// The words of a register; those of pairs are floats in name only.
  struct Tile {
    alignas(64) float row[kSide][kSide];
  };

  /// The even and the odd elements of pairs as f32.
  struct Halves {
    explicit Halves(const Tile& pairs) {
      for (int i = 0; i < kSide; ++i) {
        for (int j = 0; j < kSide; j += kWidth) {
          Words<Bf16Pair> words;
          __builtin_memcpy(&words, pairs.row[i] + j, sizeof words);
          FOVEA_ISA::store(even[i] + j, reinterpret_cast<Floats>(words << 16));
          FOVEA_ISA::store(odd[i] + j, reinterpret_cast<Floats>(words & 0xffff0000u));
        }
      }
    }
    alignas(64) float even[kSide][kSide], odd[kSide][kSide];
  };

  static void copy_row(const void* from, void* to) { __builtin_memcpy(to, from, 4 * kSide); }

  Tile tiles_[8];
};

}  // namespace fovea::ops::cpu::FOVEA_ISA
