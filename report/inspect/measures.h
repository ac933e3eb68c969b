// Metrics of attention maps: range, concentration, and the influence of content and position.
// Definitions: docs/inspect.md. Maps are [N, N], queries by keys, patches only.
#pragma once

#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "report/inspect/attention_maps.h"

namespace fovea {

/// Means over queries, distances in pixels. A contains attention weights: its rows sum to one.
struct Locality {
  double distance = 0;  ///< sum_k A[q,k] |x_q - x_k|
  double offset = 0;    ///< |x_q - sum_k A[q,k] x_k|
  double near = 0;      ///< sum of A[q,k] over q itself and its four neighbours
};
[[nodiscard]] Locality locality_of(const SquareMap& weights, const PatchGrid& grid,
                                   const TokenLayout& layout);
/// Locality of uniform attention, 1 / N everywhere.
[[nodiscard]] Locality uniform_locality(const PatchGrid& grid, const TokenLayout& layout);

/// R[q,k]: distance of two patches in coordinates from -1 to 1 along each axis.
class NormalizedDistance {
 public:
  explicit NormalizedDistance(const PatchGrid& grid);
  [[nodiscard]] double operator()(std::int64_t q, std::int64_t k) const {
    const std::int64_t dy = std::abs(q / grid_.width - k / grid_.width);
    const std::int64_t dx = std::abs(q % grid_.width - k % grid_.width);
    return by_offset_[static_cast<std::size_t>(dy * grid_.width + dx)];
  }
  /// Mean over all pairs: the nonlocality of an all-ones map.
  [[nodiscard]] double mean() const;

 private:
  PatchGrid grid_;
  std::vector<double> by_offset_;  ///< [|dy|, |dx|]
};

/// Omega = mean over all pairs of Phi[q,k] R[q,k] (PerViT eq. 13).
[[nodiscard]] double nonlocality(const SquareMap& phi, const NormalizedDistance& distance);

/// Contributions of content, position and both together in one head, on one image. Phi_c and Phi_a
/// are not normalised: exp of the logits minus their row's maximum.
struct Mixture {
  double omega_c = 0, omega_p = 0, omega_a = 0;  ///< nonlocality of Phi_c, Phi_p, Phi_a
  double psi_c = 0, psi_p = 0;  ///< impact 1 / |Phi_a - Phi_c|, 1 / |Phi_a - Phi_p|, Frobenius
};
[[nodiscard]] Mixture mixture_of(const BlockAttention& block,
                                 const BlockAttention::HeadIndex& index,
                                 const NormalizedDistance& distance);
/// Phi_a[q, :] for one query.
[[nodiscard]] std::vector<double> mixed_row(const BlockAttention& block,
                                            const BlockAttention::HeadIndex& index,
                                            std::int64_t query);

/// The rings around a patch: visual fields of up to 5, 40, 120 and 220 degrees (PerViT eq. 11).
enum class Region { central, para_central, mid_peripheral, far_peripheral };
inline constexpr std::size_t kRegions = 4;
inline constexpr std::array<std::string_view, kRegions> kRegionNames = {
    "central", "para-central", "mid-peripheral", "far-peripheral"};

/// r = sqrt(N theta / (220 pi)) patches.
[[nodiscard]] std::array<double, kRegions> region_radii(const PatchGrid& grid);
/// The ring of an offset; kRegions if it lies outside of all.
[[nodiscard]] std::size_t ring_of(const std::array<double, kRegions>& radii, double distance);

struct RegionShares {
  std::array<double, kRegions> value{};  ///< per ring: sum of Phi over N^2, or mean over its pairs
  [[nodiscard]] Region region() const;   ///< the ring with the largest value
};
[[nodiscard]] RegionShares region_shares(const SquareMap& phi, const PatchGrid& grid,
                                         bool mean_of_ring);

}  // namespace fovea
