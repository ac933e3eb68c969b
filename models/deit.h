// The distilled DeiT (Touvron et al. 2020): a ViT with a second token that learns from a teacher.
// DeiT without distillation is a ViT and is built as one, as in the authors' code.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/classifier.h"
#include "models/layers/block.h"
#include "models/layers/dropout.h"
#include "models/layers/patch_embed.h"
#include "models/layers/token_embedding.h"

namespace fovea {

/// Members have the names of the configuration keys.
struct DeiTConfig {
  PatchConfig image;
  EncoderConfig encoder;
  std::int64_t num_classes = 1000;
  bool distilled = true;
  double drop_rate = 0;  ///< dropout rate of the tokens before the heads
  double pos_drop_rate = 0;
};

void visit(ConfigFields& v, DeiTConfig& c);
/// Strict, like read_vit_config().
[[nodiscard]] DeiTConfig read_deit_config(const nlohmann::json& config);

class DeiT : public Classifier {
 public:
  DeiT(ModelInfo info, const DeiTConfig& c, std::uint64_t seed, TensorOptions options);

  /// Returns the logits of both heads in training, their mean in evaluation.
  ClassifierOutput forward(const Tensor& images, Context& ctx) override;
  [[nodiscard]] TokenInfo tokens() const override;

 private:
  DeiTConfig config_;
  TokenEmbedding embed_;
  RotaryEmbedding rope_;
  PatchEmbed patch_embed_;
  std::vector<Block> blocks_;
  Norm norm_;
  Dropout drop_;
  Linear head_, head_dist_;
};

}  // namespace fovea
