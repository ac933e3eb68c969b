// Loading tensors whose entries belong to places of a grid: position tables, relative position
// vectors, pixel permutations. Equal shapes do not imply equal grids (8x32 and 16x16 patches have
// the same count), so grids are compared, and a table from another grid is resized.
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

/// A file's tensor fitted to a parameter.
struct Fitted {
  Tensor values{};                   ///< values for the parameter; undefined if it keeps its own
  bool resized = false;              ///< true if the values differ from the file's
  std::vector<std::string> notes{};  ///< messages for the user
  std::string mismatch{};            ///< reason why the tensor does not fit; empty if it fits
};

struct GridFitOptions {
  PosResize resize = PosResize::automatic;
  std::optional<std::array<std::int64_t, 2>> grid{};  ///< the file's token grid, given by the user
  std::int64_t prefix = 0;  ///< number of prefix tokens in the file, derived from its tensor names
  bool resize_fixed = false;  ///< also resize tables that the model computes (sin-cos)
};

class GridFit {
 public:
  GridFit(const WeightsOrigin& origin, const GridFitOptions& options);

  /// Fits a file's tensor to a parameter that has a grid. The file's grid is, in this order: the
  /// one given by the user; the grid of the origin's parameter of that shape; a square grid; or, if
  /// the number of patches is not a square, the model's own grid, with a note. A computed table
  /// takes the file's values only if they equal the computed ones up to rounding, or if the
  /// origin's model also had different values there (with a note).
  [[nodiscard]] Fitted fit(const Parameter& p, const Tensor& file) const;

 private:
  /// A grid, and a note for the user if the grid is a guess.
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
  std::map<std::string, Parameter> stated_;  ///< parameters of the origin's model, by name
};

}  // namespace fovea
