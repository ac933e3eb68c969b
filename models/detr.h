// DETR (Carion et al. 2020, "End-to-End Object Detection with Transformers") in the form of its
// official code, and with CPVT's position encoding generator in its encoder (Chu et al. 2021,
// section 4.3).
#pragma once

#include "models/detector.h"
#include "models/detr_transformer.h"
#include "models/layers/box_head.h"
#include "models/layers/map_projection.h"

namespace fovea {

/// Members have the names of the configuration keys.
struct DetrConfig {
  DetectorConfig detector;
  bool pre_norm = false;  ///< normalise before attention and perceptron
  double eos_coef = 0.1;  ///< weight of "no object" in the loss
};

void visit(ConfigFields& v, DetrConfig& c);
/// Strict: throws on unknown keys, values out of range and settings that do not fit together.
[[nodiscard]] DetrConfig read_detr_config(const nlohmann::json& config);

class Detr : public Detector {
 public:
  Detr(ModelInfo info, const DetrConfig& c, std::uint64_t seed, TensorOptions options);

  [[nodiscard]] DetectorOutput detect(const FeatureMap& map, Context& ctx) const override;
  [[nodiscard]] SetLossOptions loss_options() const override;
  [[nodiscard]] const DetrConfig& config() const { return config_; }

 private:
  DetrConfig config_;
  MapProjection input_proj_;
  DetrTransformer transformer_;
  Tensor query_embed_;  ///< [Q, D]
  Linear class_embed_;
  BoxHead bbox_embed_;
};

}  // namespace fovea
