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
  bool class_token = true;
  Pooling global_pool = Pooling::token;
  PosEmbed pos_embed = PosEmbed::none;         ///< added before any PEG
  bool pos_embed_qk_first = false;             ///< reaches queries and keys of block 0 alone
  std::vector<std::int64_t> peg_positions{0};  ///< rising; a PEG after these blocks, -1: before all
  std::int64_t peg_stack = 1;                  ///< PEGs in a row at each position
  PegConfig peg;

  [[nodiscard]] TokenGrid token_grid() const { return {image.grid(), class_token ? 1 : 0}; }
};

/// Strict, as read_vit_config().
[[nodiscard]] CPVTConfig read_cpvt_config(const nlohmann::json& config);
[[nodiscard]] nlohmann::json to_json(const CPVTConfig& c);

class CPVT : public Model {
 public:
  CPVT(ModelInfo info, const CPVTConfig& c, std::uint64_t seed, TensorOptions options);

  /// Images of any size that is cut into whole patches, unless pos_embed is learned and not
  /// ctx.any_size.
  ModelOutput forward(const Tensor& images, Context& ctx) override;
  [[nodiscard]] TokenInfo tokens() const override;

 private:
  [[nodiscard]] Tensor embed(const Tensor& images, const Tensor& pos_embed,
                             const Context& ctx) const;
  [[nodiscard]] Tensor encode_positions(std::int64_t after, Tensor x, TokenGrid& grid,
                                        const Context& ctx) const;

  CPVTConfig config_;
  Tensor cls_token_;  ///< [1, 1, D] or undefined
  Tensor pos_embed_;  ///< [1, L, D] or undefined
  PatchEmbed patch_embed_;
  std::vector<Peg> pegs_;  ///< in the order of their positions, peg_stack at each
  std::vector<Block> blocks_;
  LayerNorm norm_;
  std::optional<Linear> head_;
};

/// The depthwise (or full) filters of generator `peg`, [D, 1, k, k] or [D, D, k, k]; undefined when
/// there is none of that number.
[[nodiscard]] Tensor peg_weight(const Model& model, std::int64_t peg);

/// Copies every pos_block.* of a weights file into the model and nothing else: with peg_frozen, the
/// "learned init" of the paper's table 11. Throws when one is missing or mis-shaped.
void load_pegs(Model& model, const std::filesystem::path& path);

}  // namespace fovea
