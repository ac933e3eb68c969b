// Deformable DETR (Zhu et al. 2021, "Deformable DETR: Deformable Transformers for End-to-End Object
// Detection") on one scale, in the form of its official code, and with CPVT's position encoding
// generator in its encoder (Chu et al. 2021, section 4.3).
#pragma once

#include "models/deformable_transformer.h"
#include "models/detector.h"
#include "models/layers/box_head.h"
#include "models/layers/map_projection.h"

namespace fovea {

/// Members have the names of the configuration keys.
struct DeformableDetrConfig {
  DetectorConfig detector{.num_queries = 300, .dim_feedforward = 1024};
  std::int64_t enc_n_points = 4, dec_n_points = 4;  ///< sampling points of a head
  double focal_alpha = 0.25;                        ///< of the loss
  /// The statistics of the map's group norm leave out padding, unlike the official code's: an image
  /// has the same map whatever the others of its batch are padded to.
  bool norm_free_cells = false;
};

void visit(ConfigFields& v, DeformableDetrConfig& c);
/// Strict: throws on unknown keys, values out of range and settings that do not fit together.
[[nodiscard]] DeformableDetrConfig read_deformable_detr_config(const nlohmann::json& config);

/// The 1 x 1 convolution from the backbone's channels to the transformer's width, and a group norm
/// of 32 groups.
class NormedProjection {
 public:
  static constexpr std::int64_t kGroups = 32;
  NormedProjection(const Scope& s, std::int64_t in, std::int64_t out);
  /// The norm's statistics are those of the cells that are 1 in `counted` [B, h, w], or of all.
  [[nodiscard]] Tensor operator()(const Tensor& map, const Tensor& counted,
                                  const Context& ctx) const;

 private:
  MapProjection projection_;
  ops::Affine affine_;
};

class DeformableDetr : public Detector {
 public:
  DeformableDetr(ModelInfo info, const DeformableDetrConfig& c, std::uint64_t seed,
                 TensorOptions options);

  [[nodiscard]] DetectorOutput detect(const FeatureMap& map, Context& ctx) const override;
  [[nodiscard]] SetLossOptions loss_options() const override;
  [[nodiscard]] const DeformableDetrConfig& config() const { return config_; }

 private:
  [[nodiscard]] DetectorOutput decode(const DeformableMemory& memory, Context& ctx) const;

  DeformableDetrConfig config_;
  NormedProjection input_proj_;
  DeformableTransformer transformer_;
  Tensor query_embed_;  ///< [Q, 2 D]: positions of the queries, then their initial values
  // The same heads read all layers. Published files hold them once per layer.
  Linear class_embed_;
  BoxHead bbox_embed_;
};

}  // namespace fovea
