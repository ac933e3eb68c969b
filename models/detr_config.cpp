// Reading and writing the configurations of DETR and Deformable DETR as JSON.
#include <nlohmann/json.hpp>

#include "models/deformable_detr.h"
#include "models/detr.h"

namespace fovea {

using nlohmann::json;

DetrConfig read_detr_config(const json& config) {
  DetrConfig c;
  ConfigReader r("detr config", config);
  read_detector(r, c.detector);
  r.read("pre_norm", c.pre_norm);
  r.read("eos_coef", c.eos_coef, 0, 1e6);
  r.finish();
  return c;
}

json to_json(const DetrConfig& c) {
  json config;
  write_detector(config, c.detector);
  config["pre_norm"] = c.pre_norm;
  config["eos_coef"] = c.eos_coef;
  return config;
}

DeformableDetrConfig read_deformable_detr_config(const json& config) {
  DeformableDetrConfig c;
  ConfigReader r("ddetr config", config);
  read_detector(r, c.detector);
  r.read("enc_n_points", c.enc_n_points, 1, 1024);
  r.read("dec_n_points", c.dec_n_points, 1, 1024);
  r.read("focal_alpha", c.focal_alpha, 0, 1);
  r.read("norm_free_cells", c.norm_free_cells);
  r.finish();
  check(c.detector.d_model % NormedProjection::kGroups == 0, "ddetr config: d_model ",
        c.detector.d_model, " is not divisible by ", NormedProjection::kGroups,
        ", the groups of input_proj's norm");
  return c;
}

json to_json(const DeformableDetrConfig& c) {
  json config;
  write_detector(config, c.detector);
  config["enc_n_points"] = c.enc_n_points;
  config["dec_n_points"] = c.dec_n_points;
  config["focal_alpha"] = c.focal_alpha;
  config["norm_free_cells"] = c.norm_free_cells;
  return config;
}

}  // namespace fovea
