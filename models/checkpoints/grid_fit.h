// Tensors whose entries belong to places of a grid (position tables, vectors of relative positions,
// permutations of pixels), from a file into a model. Equal shapes do not mean equal grids: 8x32
// patches are as many as 16x16. So grids are compared, and tables of another grid are resized.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints/origin.h"
#include "models/scope.h"

namespace fovea {

/// What becomes of a file's tensor.
struct Fitted {
  Tensor values{};                   ///< for the parameter; undefined where it keeps its own
  bool resized = false;              ///< they are not the file's
  std::vector<std::string> notes{};  ///< what the user should know
  std::string misfit{};              ///< why the tensor cannot be taken; empty where it can
};

struct GridFitOptions {
  PosResize resize = PosResize::automatic;
  std::optional<std::array<std::int64_t, 2>> grid{};  ///< of the file's tokens, as the user says it
  std::int64_t prefix = 0;    ///< tokens before the patches in the file, by their names
  bool resize_fixed = false;  ///< tables that the model computes too
};

class GridFit {
 public:
  GridFit(const WeightsOrigin& origin, const GridFitOptions& options);

  /// For a parameter with a grid. The file's is what the user says, else what its origin says of a
  /// tensor of that shape, else a square one or, where that is impossible, the model's own, which
  /// a note tells. A computed table takes the file's values only where they are, rounding aside,
  /// what would be computed, or where the origin's model took such values too, which is noted.
  [[nodiscard]] Fitted fit(const Parameter& p, const Tensor& file) const;

 private:
  /// A grid, and what to say where it is a guess.
  struct Source {
    TokenGrid grid;
    std::string note{};
  };
  [[nodiscard]] std::optional<Source> source_of(const Parameter& p, const Tensor& file) const;
  [[nodiscard]] std::optional<Source> guess(const Parameter& p, const Tensor& file) const;
  [[nodiscard]] std::int64_t prefix_of(const Parameter& p, const Tensor& file) const;
  [[nodiscard]] std::string way_out(const Parameter& p, const Tensor& file) const;
  [[nodiscard]] Fitted fit_computed(const Parameter& p, const Tensor& file,
                                    const TokenGrid& from) const;
  [[nodiscard]] Fitted resized(const Parameter& p, const Tensor& file, const TokenGrid& from) const;

  GridFitOptions options_;
  PosResize resize_;
  std::map<std::string, Parameter> stated_;  ///< what the origin's model has, by name
};

}  // namespace fovea
