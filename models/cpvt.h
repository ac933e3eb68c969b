// CPVT (Chu et al. 2021): DeiT's blocks without a position embedding. Where tokens are comes from
// position encoding generators between the blocks, so that images of any size will do.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "models/layers/peg.h"
#include "models/vit.h"

namespace fovea {

/// Names are those of the configuration keys.
struct CPVTConfig {
  PatchConfig image;
  EncoderConfig encoder;
  std::int64_t num_classes = 1000;
  TokenEmbeddingConfig tokens{.pos_embed = PosEmbed::none};  ///< before any PEG
  Pooling global_pool = Pooling::token;
  std::vector<std::int64_t> peg_positions{0};  ///< rising; a PEG after these blocks, -1: before all
  std::int64_t peg_stack = 1;                  ///< PEGs in a row at each position
  PegConfig peg;
};

/// Strict, as read_vit_config().
[[nodiscard]] CPVTConfig read_cpvt_config(const nlohmann::json& config);
[[nodiscard]] nlohmann::json to_json(const CPVTConfig& c);

class CPVT : public Classifier {
 public:
  CPVT(ModelInfo info, const CPVTConfig& c, std::uint64_t seed, TensorOptions options);

  /// Images of any size that is cut into whole patches, unless pos_embed is learned and not
  /// ctx.any_size.
  ClassifierOutput forward(const Tensor& images, Context& ctx) override;
  [[nodiscard]] TokenInfo tokens() const override;

 private:
  [[nodiscard]] Tensor encode_positions(std::int64_t after, Tensor x, TokenGrid& grid,
                                        const Context& ctx) const;
  [[nodiscard]] Tensor pool(const Tensor& x, const TokenGrid& grid) const;

  CPVTConfig config_;
  TokenEmbedding embed_;
  PatchEmbed patch_embed_;
  std::vector<Peg> pegs_;  ///< in the order of their positions, peg_stack at each
  std::vector<Block> blocks_;
  LayerNorm norm_;
  ClassHead head_;
};

/// The depthwise (or full) filters of generator `peg`, [D, 1, k, k] or [D, D, k, k]; undefined when
/// there is none of that number.
[[nodiscard]] Tensor peg_weight(const Model& model, std::int64_t peg);

/// Copies every pos_block.* of a weights file into the model and nothing else: with peg_frozen, the
/// "learned init" of the paper's table 11. Throws when one is missing or mis-shaped.
void load_pegs(Model& model, const std::filesystem::path& path);

}  // namespace fovea
