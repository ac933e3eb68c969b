// Rotary position embedding of a stack of blocks (Heo et al. 2024, "Rotary Position Embedding for
// Vision Transformer"): in each head, pair p of a query's or key's channels turns by the angle
// f_x[p] x + f_y[p] y for the patch in column x and row y of the grid. Prefix tokens do not turn.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "engine/base/names.h"
#include "models/context.h"
#include "models/layers/positions.h"
#include "models/scope.h"

namespace fovea {

enum class Rope {
  none,
  axial,  ///< half of the pairs turn with one axis, the others with the other; fixed frequencies
  mixed,  ///< learned frequencies in both directions, of each block and head
};
template <>
inline constexpr auto kNames<Rope> = std::to_array<Named<Rope>>({{Rope::none, "none"},
                                                                 {Rope::axial, "axial"},
                                                                 {Rope::mixed, "mixed"}});

/// The coordinates of the n patches along an axis.
enum class RotaryGrid {
  index,     ///< 0, 1 ... n - 1
  centered,  ///< 2 pi times the middles of n equal parts of [-1, 1] (DINOv3)
};
template <>
inline constexpr auto kNames<RotaryGrid> = std::to_array<Named<RotaryGrid>>(
    {{RotaryGrid::index, "index"}, {RotaryGrid::centered, "centered"}});

/// Which axis comes first, in the pairs of axial and in the parameter of mixed frequencies.
enum class RotaryIndexing { xy, ij };
template <>
inline constexpr auto kNames<RotaryIndexing> =
    std::to_array<Named<RotaryIndexing>>({{RotaryIndexing::xy, "xy"}, {RotaryIndexing::ij, "ij"}});

/// Where the patches lie, and which channels are pairs. Members have the names of the configuration
/// keys.
struct RotaryPlaces {
  RotaryGrid rope_grid = RotaryGrid::index;
  double rope_grid_offset = 0;  ///< in patches, added to the indices
  RotaryIndexing rope_grid_indexing = RotaryIndexing::xy;
  /// Indices are multiplied by this grid's size over that of the image: all images end where those
  /// of pretraining did (EVA-02). 0: they are not.
  std::array<std::int64_t, 2> ref_feat_shape{0, 0};
  bool rope_rotate_half = false;  ///< pairs are channels p and p + width / 2, not 2 p and 2 p + 1

  [[nodiscard]] bool operator==(const RotaryPlaces&) const = default;
};

struct RotaryConfig {
  Rope kind = Rope::none;
  /// The slowest of n frequencies of an axis is temperature^-((n - 1) / n).
  double temperature = 0;
  RotaryPlaces places{};
  std::int64_t depth = 12, heads = 3;
  std::int64_t width = 64;       ///< channels of a head, divisible by 4
  ops::CoordinateMoves moves{};  ///< in training; the shift of centered coordinates is in [-1, 1]

  /// The paper's temperature.
  [[nodiscard]] static double usual_temperature(Rope kind) {
    return kind == Rope::mixed ? 10 : 100;
  }
};

/// Fills freqs [2, depth, heads, width / 2]: along the first and the second axis. Each head has the
/// frequencies temperature^(-4 j / width) along an axis of random direction, and again along the
/// one across it.
[[nodiscard]] Init mixed_frequencies(const RotaryConfig& c);

class RotaryEmbedding {
 public:
  /// Makes the parameter "freqs" of mixed frequencies.
  RotaryEmbedding(const Scope& s, const RotaryConfig& c);

  /// The positions with the rotations of all blocks on their grid. Training makes their tables anew
  /// in each pass, so that it can be recorded and repeated: nothing of it lies in memory that
  /// images of another size free.
  [[nodiscard]] Positions operator()(Positions where, const Context& ctx) const;

 private:
  using GridSize = std::array<std::int64_t, 2>;
  /// The tables of evaluation's last grid, which depend on nothing else between two changes of
  /// `freqs`.
  struct Last {
    GridSize size{0, 0};
    DType dtype = DType::f32;
    std::uint64_t version = 0;
    std::vector<Tensor> tables{};
  };

  [[nodiscard]] std::vector<Tensor> tables(GridSize size, const Context& ctx) const;
  [[nodiscard]] std::vector<Tensor> compute(const ops::RotaryAxes& axes, DType dtype) const;
  [[nodiscard]] const ops::RotaryAxes& axes_of(GridSize size) const;
  [[nodiscard]] ops::RotaryAxes moved(const ops::RotaryAxes& axes, const Context& ctx) const;
  [[nodiscard]] bool x_first() const {
    return config_.places.rope_grid_indexing == RotaryIndexing::xy;
  }
  [[nodiscard]] double unit() const;
  [[nodiscard]] Tensor coordinates(std::int64_t count, std::int64_t reference) const;
  [[nodiscard]] ops::RotaryFrequencies axial() const;
  [[nodiscard]] ops::RotaryFrequencies mixed(std::int64_t block) const;

  RotaryConfig config_;
  Device device_;
  Tensor freqs_;                  ///< of mixed
  ops::RotaryFrequencies fixed_;  ///< of axial
  mutable Last last_;
  mutable std::map<GridSize, ops::RotaryAxes> axes_;  ///< of all grids so far
};

}  // namespace fovea
