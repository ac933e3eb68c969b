// The position encoding generator of CPVT (Chu et al. 2021, section 3.3): a convolution over the
// grid of patch tokens. Its zero padding gives tokens their positions (CPVT sec. 3).
#pragma once

#include "engine/base/names.h"
#include "models/layers/token_grid.h"
#include "models/scope.h"

namespace fovea {

enum class PegConv { depthwise, separable, full };
template <>
inline constexpr auto kNames<PegConv> =
    std::to_array<Named<PegConv>>({{PegConv::depthwise, "depthwise"},
                                   {PegConv::separable, "separable"},
                                   {PegConv::full, "full"}});
enum class PegPadding { zero, none };
template <>
inline constexpr auto kNames<PegPadding> =
    std::to_array<Named<PegPadding>>({{PegPadding::zero, "zero"}, {PegPadding::none, "none"}});
enum class PegInit { twins, torch };
template <>
inline constexpr auto kNames<PegInit> = std::to_array<Named<PegInit>>({{PegInit::twins, "twins"},
                                                                       {PegInit::torch, "torch"}});

/// Members have the names of the configuration keys without "peg_".
struct PegConfig {
  std::int64_t kernel = 3;  ///< odd
  PegPadding padding = PegPadding::zero;
  PegConv conv = PegConv::depthwise;
  bool residual = true;
  bool frozen = false;  ///< never trained
  PegInit init =
      PegInit::twins;  ///< twins: N(sqrt(2 / fan_out)), bias 0; torch: U(1 / sqrt(fan_in))

  [[nodiscard]] std::int64_t margin() const { return kernel / 2; }
  /// Output grid. Without padding it is smaller than the input grid by a margin on each side.
  [[nodiscard]] TokenGrid output(TokenGrid grid) const;
};

/// conv(f) + f on the patch tokens; prefix tokens pass through. [B, P + N, D] -> [B, P + N', D].
class Peg {
 public:
  Peg(const Scope& s, const PegConfig& c, std::int64_t dim);
  [[nodiscard]] Tensor operator()(const Tensor& x, const TokenGrid& grid) const;

 private:
  [[nodiscard]] Tensor convolve(const Tensor& f, const TokenGrid& grid) const;
  [[nodiscard]] Tensor crop(const Tensor& f, const TokenGrid& grid) const;

  PegConfig config_;
  Tensor weight_, bias_;              ///< [D, 1, k, k] (full: [D, D, k, k]), [D]
  Tensor point_weight_, point_bias_;  ///< separable: [D, D, 1, 1], [D]
};

}  // namespace fovea
