// The settings of DETR and Deformable DETR.
#include <nlohmann/json.hpp>

#include "models/config_fields.h"
#include "models/deformable_detr.h"
#include "models/detr.h"

namespace fovea {

using nlohmann::json;

void visit(ConfigFields& v, DetrConfig& c) {
  visit(v, c.detector);
  v("pre_norm", &c.pre_norm)
      .flag("Detector", "DETR: normalise before attention and MLP instead of after");
  v("eos_coef", &c.eos_coef, {0, 1e6})
      .flag("Detector", "DETR: weight of \"no object\" in the loss");
}

DetrConfig read_detr_config(const json& config) {
  const auto c = read_config<DetrConfig>("detr config", config);
  check_detector(c.detector);
  return c;
}

void visit(ConfigFields& v, DeformableDetrConfig& c) {
  visit(v, c.detector);
  v("enc_n_points", &c.enc_n_points, {1, 1024})
      .flag("Detector", "Deformable DETR: sampling points per head in the encoder");
  v("dec_n_points", &c.dec_n_points, {1, 1024})
      .flag("Detector", "Deformable DETR: sampling points per head in the decoder");
  v("focal_alpha", &c.focal_alpha, {0, 1})
      .flag("Detector", "Deformable DETR: weight of the positive class in the focal loss");
  v("norm_free_cells", &c.norm_free_cells);
}

DeformableDetrConfig read_deformable_detr_config(const json& config) {
  const auto c = read_config<DeformableDetrConfig>("ddetr config", config);
  check_detector(c.detector);
  check(c.detector.d_model % NormedProjection::kGroups == 0, "ddetr config: d_model ",
        c.detector.d_model, " is not divisible by ", NormedProjection::kGroups,
        ", the groups of input_proj's norm");
  return c;
}

}  // namespace fovea
