// The perceptron of a transformer block: two layers, or a gated form (Shazeer 2020, "GLU Variants
// Improve Transformer").
#pragma once

#include <optional>

#include "models/layers/activation.h"
#include "models/layers/dropout.h"
#include "models/layers/linear.h"
#include "models/layers/norm.h"

namespace fovea {

enum class MlpKind {
  mlp,     ///< act(fc1(x))
  glu,     ///< act(a) * b for the halves a, b of fc1(x), as in DINOv2
  swiglu,  ///< act(fc1_g(x)) * fc1_x(x)
};
template <>
inline constexpr auto kNames<MlpKind> = std::to_array<Named<MlpKind>>(
    {{MlpKind::mlp, "mlp"}, {MlpKind::glu, "glu"}, {MlpKind::swiglu, "swiglu"}});

struct MlpConfig {
  std::int64_t in, hidden, out;
  double drop = 0;  ///< dropout rate of the hidden values and of the outputs in training
  MlpKind kind = MlpKind::mlp;
  Activation act = Activation::gelu;
  bool bias = true;
  NormKind norm = NormKind::none;  ///< normalise the hidden values
  double norm_eps = 1e-6;
  bool opens_gate = true;  ///< a gate starts at about 1
  double out_scale = 1;    ///< factor of fc2's initial weight

  /// Channels that enter fc2.
  [[nodiscard]] std::int64_t gated() const { return kind == MlpKind::glu ? hidden / 2 : hidden; }
};

/// fc2(norm(hidden values)), a branch of a block: [B, N, in] -> [B, N, out].
class Mlp {
 public:
  Mlp(const Scope& s, const MlpConfig& c);

  [[nodiscard]] Branch operator()(const Tensor& x, Context& ctx) const;
  [[nodiscard]] bool drops(const Context& ctx) const { return drop_.drops(ctx); }

 private:
  [[nodiscard]] Tensor hidden(const Tensor& x) const;

  MlpConfig config_;
  std::optional<Linear> gate_;  ///< fc1_g of a swiglu
  Linear fc1_;
  Norm norm_;
  Linear fc2_;
  Dropout drop_;
};

}  // namespace fovea
