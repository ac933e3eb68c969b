// Reading and writing the configuration of DiT as JSON.
#include <nlohmann/json.hpp>

#include "models/dit.h"
#include "models/layer_config.h"

namespace fovea {

using nlohmann::json;

DitConfig read_dit_config(const json& config) {
  DitConfig c;
  ConfigReader r("dit config", config);
  read_image(r, c.image);
  read_widths(r, c.encoder);
  r.read("num_classes", c.num_classes, 1);
  r.read("class_dropout_prob", c.class_dropout_prob, 0, 1);
  r.read("learn_sigma", c.learn_sigma);
  r.read_choice("pos_embed", c.pos_embed);
  r.finish();
  check(c.pos_embed == PosEmbed::sincos || c.pos_embed == PosEmbed::learned,
        "dit config: pos_embed: got ", name_of(c.pos_embed), ", expected sincos or learned");
  check_sizes("dit config", c.image, c.encoder);
  check_positions("dit config", c.pos_embed, c.encoder);
  return c;
}

json to_json(const DitConfig& c) {
  json config;
  write_image(config, c.image);
  write_widths(config, c.encoder);
  config["num_classes"] = c.num_classes;
  config["class_dropout_prob"] = c.class_dropout_prob;
  config["learn_sigma"] = c.learn_sigma;
  config["pos_embed"] = name_of(c.pos_embed);
  return config;
}

}  // namespace fovea
