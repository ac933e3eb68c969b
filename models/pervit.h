// PerViT, the Peripheral Vision Transformer (Min et al. 2022): separate attention by content and by
// position; a convolutional stem; stages of rising width on one token grid.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "models/classifier.h"
#include "models/layers/class_head.h"
#include "models/layers/conv_stem.h"
#include "models/layers/dropout.h"
#include "models/layers/mlp.h"
#include "models/layers/norm.h"
#include "models/layers/patch_embed.h"
#include "models/layers/peripheral_attention.h"
#include "models/layers/pos_embed.h"

namespace fovea {

/// Members have the names of the configuration keys.
struct PerViTConfig {
  PatchConfig image;  ///< patch_size is used only without conv_stem
  std::vector<std::int64_t> emb_dims;
  std::vector<std::int64_t> depths{2, 2, 6, 2};
  std::vector<std::int64_t> convstem_dims;
  std::int64_t num_classes = 1000;  ///< 0: no head
  double mlp_ratio = 4;
  double norm_eps = 1e-6;
  double drop_path = 0;  ///< rate of the last block; block i of n has drop_path i / (n - 1)
  bool phi_p = true;     ///< attention by position
  bool phi_c = true;     ///< attention by content
  bool conv_stem = true;
  bool cpe = true;  ///< a depthwise convolution before each attention
  PosEmbed pos_embed = PosEmbed::none;
  PositionConfig position;  ///< its grid is derived from the image

  [[nodiscard]] std::int64_t depth() const;
  /// Width of block `index`, and of the block after it; the last block keeps its own.
  [[nodiscard]] std::int64_t width(std::int64_t index) const;
  [[nodiscard]] std::int64_t next_width(std::int64_t index) const;
  [[nodiscard]] std::int64_t hidden(std::int64_t index) const;
  /// Width and height of a token in image pixels.
  [[nodiscard]] std::int64_t stride() const;
  [[nodiscard]] std::int64_t tokens() const { return position.grid * position.grid; }
};

void visit(ConfigFields& v, PerViTConfig& c);
/// Strict: throws on unknown keys, values out of range and sizes that do not divide.
[[nodiscard]] PerViTConfig read_pervit_config(const nlohmann::json& config);

/// x + attention(norm1(cpe(x))), then res_path(x) + mlp(norm2(x)): [B, N, D] -> [B, N, D']. The
/// last block of a stage changes the width. The skip connection bypasses the CPE.
class PerViTBlock {
 public:
  PerViTBlock(const Scope& s, const PerViTConfig& c, const RelativeEncoding* relative,
              std::int64_t index);
  /// Runs the block, like Block::operator().
  [[nodiscard]] Tensor operator()(const Tensor& x, Context& ctx);
  void finish_backward() { attn_.finish_backward(); }
  void abandon_step() { attn_.abandon_step(); }

 private:
  [[nodiscard]] Tensor forward(Tensor x, Context& ctx);
  [[nodiscard]] Tensor cpe(const Tensor& x) const;

  std::int64_t index_, grid_;
  DropPath drop_path_;
  Norm norm1_;
  std::optional<Linear> res_path_;
  PeripheralAttention attn_;
  Tensor cpe_weight_, cpe_bias_;  ///< [D, 1, 3, 3], [D] or undefined
  Norm norm2_;
  Mlp mlp_;
};

/// The last instance norm before the sigmoid of Phi_p in a block: scale v and shift s per head,
/// [H]. Undefined if the block has none.
struct PositionGate {
  Tensor scale, shift;
};
[[nodiscard]] PositionGate position_gate(const Model& model, std::int64_t block);

class PerViT : public Classifier {
 public:
  PerViT(ModelInfo info, const PerViTConfig& c, std::uint64_t seed, TensorOptions options);

  ClassifierOutput forward(const Tensor& images, Context& ctx) override;
  [[nodiscard]] PatchTokens patch_tokens(const Tensor& images, Context& ctx) override;
  [[nodiscard]] std::int64_t patch_channels() const override { return config_.emb_dims.back(); }
  /// Position attention holds the distances of one grid.
  [[nodiscard]] bool takes_any_size() const override { return false; }
  void finish_backward() override;
  void abandon_step() override;
  [[nodiscard]] TokenInfo tokens() const override;

 private:
  [[nodiscard]] Tensor embed(const Tensor& images, Context& ctx) const;

  PerViTConfig config_;
  std::optional<ConvStem> stem_;
  std::optional<PatchEmbed> patch_embed_;
  Tensor pos_embed_;  ///< [1, N, D] or undefined
  std::optional<RelativeEncoding> relative_;
  std::vector<PerViTBlock> blocks_;
  Norm norm_;
  ClassHead head_;
};

}  // namespace fovea
