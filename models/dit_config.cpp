// The settings of DiT.
#include <nlohmann/json.hpp>

#include "models/dit.h"
#include "models/layer_config.h"

namespace fovea {

void visit(ConfigFields& v, DitConfig& c) {
  visit(v, c.image);
  visit_widths(v, c.encoder);
  v("num_classes", &c.num_classes);
  visit_pos_embed(v, c.pos_embed);
  v("learn_sigma", &c.learn_sigma).flag("DiT", "also predict variances");
  v("class_dropout_prob", &c.class_dropout_prob, {0, 1})
      .flag("DiT", "fraction of the labels dropped in training, for guidance; 0: no null class");
}

DitConfig read_dit_config(const nlohmann::json& config) {
  const auto c = read_config<DitConfig>("dit config", config);
  check(c.pos_embed == PosEmbed::sincos || c.pos_embed == PosEmbed::learned,
        "dit config: pos_embed: got ", name_of(c.pos_embed), ", expected sincos or learned");
  check_sizes("dit config", c.image, c.encoder);
  check_positions("dit config", c.pos_embed, c.encoder);
  return c;
}

}  // namespace fovea
