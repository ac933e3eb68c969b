// Blocks whose branches run beside each other.
#pragma once

#include <memory>
#include <vector>

#include "models/layers/block.h"
#include "models/layers/layer_scale.h"

namespace fovea {

/// x + attention(norm(x)) + mlp(norm(x)): one norm and one linear layer serve both branches.
/// diff_parallel_scaling has differential attention and one output layer for both branches.
class ParallelScalingBlock : public BlockForm {
 public:
  ParallelScalingBlock(const Scope& s, const EncoderConfig& c, std::int64_t index);

  [[nodiscard]] Tensor operator()(Tensor x, Context& ctx, const Positions& where) const override;

 private:
  /// The output layers applied to the heads [B, L, D] and the MLP's hidden values [B, L, M].
  [[nodiscard]] Branch project(const Tensor& heads, const Tensor& hidden) const;

  std::int64_t dim_, hidden_;
  Activation act_;
  Norm in_norm_;
  Linear in_proj_;   ///< to the MLP's hidden values, then q, k and v
  Tensor mlp_bias_;  ///< [M], without qkv_bias, which otherwise includes it
  std::unique_ptr<AttentionHeads> heads_;
  std::optional<Linear> out_proj_, attn_out_proj_, mlp_out_proj_;
  LayerScale scale_;
  Dropout drop_;
  DropPath drop_path_;
};

/// x + the sum of two attention branches, then x + the sum of two MLP branches.
class ParallelThingsBlock : public BlockForm {
 public:
  ParallelThingsBlock(const Scope& s, const EncoderConfig& c, std::int64_t index);

  [[nodiscard]] Tensor operator()(Tensor x, Context& ctx, const Positions& where) const override;

 private:
  /// A branch's norm and layer scale around its layer.
  template <class Layer>
  struct Arm {
    Norm norm;
    Layer layer;
    LayerScale scale;
  };

  std::vector<Arm<Attention>> attns_;
  std::vector<Arm<Mlp>> ffns_;
  DropPath drop_path_;
};

}  // namespace fovea
