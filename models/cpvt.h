// CPVT (Chu et al. 2021): DeiT's blocks without a position embedding. Position encoding generators
// (PEG) between the blocks supply the positions, so images may have any size.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/layers/peg_stack.h"
#include "models/vit.h"

namespace fovea {

/// Members have the names of the configuration keys; those of `pegs` begin with peg_.
struct CPVTConfig {
  PatchConfig image;
  EncoderConfig encoder;
  std::int64_t num_classes = 1000;
  TokenEmbeddingConfig tokens{.pos_embed = PosEmbed::none};  ///< positions added before any PEG
  Pooling global_pool = Pooling::token;
  PegStackConfig pegs{.positions = {0}, .peg = {}};
};

void visit(ConfigFields& v, CPVTConfig& c);
/// Strict, like read_vit_config().
[[nodiscard]] CPVTConfig read_cpvt_config(const nlohmann::json& config);

class CPVT : public Classifier {
 public:
  CPVT(ModelInfo info, const CPVTConfig& c, std::uint64_t seed, TensorOptions options);

  /// Accepts images of any size that divides into whole patches, unless pos_embed is learned and
  /// ctx.any_size is not set.
  ClassifierOutput forward(const Tensor& images, Context& ctx) override;
  [[nodiscard]] PatchTokens patch_tokens(const Tensor& images, Context& ctx) override;
  [[nodiscard]] std::int64_t patch_channels() const override { return config_.encoder.embed_dim; }
  [[nodiscard]] TokenInfo tokens() const override;

 private:
  [[nodiscard]] EmbeddedTokens encode(const Tensor& images, std::int64_t count, Context& ctx) const;

  CPVTConfig config_;
  TokenEmbedding embed_;
  RotaryEmbedding rope_;
  PatchEmbed patch_embed_;
  PegStack pegs_;
  std::vector<Block> blocks_;
  Norm norm_;
  TokenPool pool_;
  ClassHead head_;
};

/// Filters of generator `peg`: [D, 1, k, k] if depthwise, [D, D, k, k] if full; undefined if there
/// is no such generator.
[[nodiscard]] Tensor peg_weight(const Model& model, std::int64_t peg);

/// Copies only the pos_block.* tensors of a weights file into the model. With peg_frozen this is
/// the "learned init" of the paper's table 11. Throws if one is missing or mis-shaped.
void load_pegs(Model& model, const std::filesystem::path& path);

}  // namespace fovea
