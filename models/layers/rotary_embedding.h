// Rotary position embedding of a stack of blocks (Heo et al. 2024, "Rotary Position Embedding for
// Vision Transformer"): in each head, pair p of a query's or key's channels turns by the angle
// f_x[p] x + f_y[p] y for the patch in column x and row y of the grid. Prefix tokens do not turn.
#pragma once

#include <array>
#include <vector>

#include "engine/base/names.h"
#include "models/context.h"
#include "models/layers/positions.h"
#include "models/scope.h"

namespace fovea {

enum class Rope {
  none,
  axial,  ///< half of the pairs turn with x, the others with y; fixed frequencies
  mixed,  ///< learned frequencies in both directions, of each block and head
};
template <>
inline constexpr auto kNames<Rope> = std::to_array<Named<Rope>>({{Rope::none, "none"},
                                                                 {Rope::axial, "axial"},
                                                                 {Rope::mixed, "mixed"}});

struct RotaryConfig {
  Rope kind = Rope::none;
  /// The slowest of n frequencies of an axis is temperature^-((n - 1) / n).
  double temperature = 0;
  std::int64_t depth = 12, heads = 3;
  std::int64_t width = 64;  ///< channels of a head, divisible by 4

  /// The paper's temperature.
  [[nodiscard]] static double usual_temperature(Rope kind) {
    return kind == Rope::mixed ? 10 : 100;
  }
};

/// Fills freqs [2, depth, heads, width / 2]: in x and in y. Each head has the frequencies
/// temperature^(-4 j / width) along an axis of random direction, and again along the one across it.
[[nodiscard]] Init mixed_frequencies(const RotaryConfig& c);

class RotaryEmbedding {
 public:
  /// Makes the parameter "freqs" of mixed frequencies.
  RotaryEmbedding(const Scope& s, const RotaryConfig& c);

  /// The positions with the rotations of all blocks on their grid.
  [[nodiscard]] Positions operator()(Positions where, const Context& ctx) const;

 private:
  using GridSize = std::array<std::int64_t, 2>;
  /// The tables of the last grid, which depend on nothing else between two changes of `freqs`.
  struct Last {
    GridSize size{0, 0};
    DType dtype = DType::f32;
    std::uint64_t version = 0;
    std::vector<Tensor> tables{};
  };

  [[nodiscard]] std::vector<Tensor> tables(GridSize size, DType dtype) const;
  [[nodiscard]] std::vector<Tensor> compute(DType dtype) const;
  [[nodiscard]] ops::RotaryFrequencies axial() const;
  [[nodiscard]] ops::RotaryFrequencies mixed(std::int64_t block) const;

  RotaryConfig config_;
  Device device_;
  Tensor freqs_;  ///< or undefined
  mutable Last last_;
  mutable ops::RotaryAxes axes_;  ///< of the last grid
};

}  // namespace fovea
