// How a sequence of tokens lies: a few prefix tokens, then the patches of a grid, row by row.
#pragma once

#include <array>
#include <cstdint>

namespace fovea {

struct TokenGrid {
  std::array<std::int64_t, 2> size{0, 0};  ///< (height, width)
  std::int64_t prefix = 0;                 ///< tokens before the grid: class, distillation

  [[nodiscard]] std::int64_t patches() const { return size[0] * size[1]; }
  [[nodiscard]] std::int64_t tokens() const { return prefix + patches(); }
  [[nodiscard]] bool operator==(const TokenGrid&) const = default;
};

}  // namespace fovea
