// Phi_p of PerViT (Min et al. 2022, equations 7 to 9): how much each token attends to each other
// token by position alone. It does not depend on the image and is computed once per step.
#pragma once

#include <array>

#include "engine/base/names.h"
#include "models/layers/once_per_step.h"
#include "models/scope.h"

namespace fovea {

enum class PpeEmbed { euc, lrn };
template <>
inline constexpr auto kNames<PpeEmbed> = std::to_array<Named<PpeEmbed>>({{PpeEmbed::euc, "euc"},
                                                                         {PpeEmbed::lrn, "lrn"}});
enum class PpeInit { peripheral, conv, rand };
template <>
inline constexpr auto kNames<PpeInit> = std::to_array<Named<PpeInit>>(
    {{PpeInit::peripheral, "peripheral"}, {PpeInit::conv, "conv"}, {PpeInit::rand, "rand"}});

/// Members have the names of the configuration keys.
struct PositionConfig {
  std::int64_t grid = 14;  ///< n: tokens per side
  std::int64_t num_heads = 4;
  PpeEmbed ppe_embed = PpeEmbed::euc;
  std::int64_t ppe_kernel = 3;  ///< K, odd
  std::int64_t ppe_layers = 2;  ///< 1 or 2
  bool ppe_frozen = false;
  PpeInit ppe_init = PpeInit::peripheral;
  /// Standard deviation of the noise added to the projections' weights, which start equal.
  double ppe_init_noise = 0;

  [[nodiscard]] std::int64_t channels() const { return 4 * num_heads; }
  [[nodiscard]] std::int64_t reach() const { return ppe_kernel / 2; }
  /// p: cells of padding on each side, one reach() per unpadded projection.
  [[nodiscard]] std::int64_t padding() const { return ppe_layers * reach(); }
  /// P: keys per side before the projections.
  [[nodiscard]] std::int64_t padded() const { return grid + 2 * padding(); }
  /// Keys per side after the first projection.
  [[nodiscard]] std::int64_t window() const { return padded() - 2 * reach(); }
};

/// R: relation between a query and a key of the padded grid, in 4H channels. All blocks share it;
/// copies share the parameters.
///   euc: R[q, k] = w |k - q| + b, coordinates linspace(-1, 1, n) extended outwards (`rpe_proj`)
///   lrn: R[q, k] = v[k] - v[q] (`rpe_vec`)
class RelativeEncoding {
 public:
  RelativeEncoding(const Scope& s, const PositionConfig& c);

  /// The first peripheral projection, a valid convolution over the keys of every query: weight [O,
  /// 4H, K, K], bias [O] -> [Q, O, m, m], m = window(). Q is N, or 1 if the result is the same for
  /// all queries up to a constant, which the following instance norm removes.
  [[nodiscard]] Tensor project(const Tensor& weight, const Tensor& bias) const;
  [[nodiscard]] const std::vector<Tensor>& parameters() const { return parameters_; }

 private:
  [[nodiscard]] Tensor project_distances(const Tensor& weight, const Tensor& bias) const;

  std::int64_t grid_, window_;
  std::vector<Tensor> parameters_;  ///< euc: w [4H, 1], b [4H]; lrn: v [P, P, 4H]
  Tensor distances_;                ///< euc: |k - q| for every k - q, [1, 1, 2n + 2p - 1, ...]
  Tensor positions_;                ///< euc: index of key j of query i among the offsets, [n m]
};

/// The peripheral projections of one block, `conv1 gn1 conv2 gn2` or `conv2 gn2`:
///   Phi_p = sigmoid(gn2(conv2(relu(gn1(conv1(R))))))
class PositionAttention {
 public:
  /// `index` and `depth` (the block's number and the number of blocks) set the initial values
  /// (equation 9).
  PositionAttention(const Scope& s, const PositionConfig& c, const RelativeEncoding& relative,
                    std::array<std::int64_t, 2> index_of_depth);

  /// log Phi_p, [H, N, N], or [H, 1, N] if it is the same for all queries (lrn).
  [[nodiscard]] Tensor operator()();
  /// See OncePerStep.
  void finish_backward() { once_.finish_backward(); }
  void abandon_step() { once_.abandon(); }

 private:
  /// One projection and its norm: convolution to `out` channels, instance norm over the keys.
  struct Layer {
    Tensor weight, bias, scale, shift;
  };
  [[nodiscard]] Tensor compute() const;
  [[nodiscard]] std::vector<Tensor> all_parameters() const;

  RelativeEncoding relative_;
  std::vector<Layer> layers_;
  OncePerStep once_;
};

/// Number of parameters of Phi_p in all blocks of a model; 0 if it has none.
[[nodiscard]] std::int64_t position_attention_parameters(const ParameterStore& store);

}  // namespace fovea
