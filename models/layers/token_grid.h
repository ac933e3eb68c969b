// Layout of a token sequence: prefix tokens, then the patches of a grid in row-major order.
#pragma once

#include <array>
#include <cstdint>

namespace fovea {

struct TokenGrid {
  std::array<std::int64_t, 2> size{0, 0};  ///< (height, width)
  std::int64_t prefix = 0;  ///< number of tokens before the grid: class, distillation

  [[nodiscard]] std::int64_t patches() const { return size[0] * size[1]; }
  [[nodiscard]] std::int64_t tokens() const { return prefix + patches(); }
  [[nodiscard]] bool operator==(const TokenGrid&) const = default;
};

}  // namespace fovea
