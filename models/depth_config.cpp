// Reading and writing the configuration of depth transformers as JSON.
#include <nlohmann/json.hpp>

#include "models/depth_transformer.h"
#include "models/layer_config.h"

namespace fovea {

using nlohmann::json;

DepthConfig read_depth_config(const json& config) {
  const std::string where = "depth config";
  DepthConfig c;
  TokenEmbeddingConfig& t = c.tokens;
  ConfigReader r(where, config);
  read_image(r, c.image);
  read_encoder(r, c.encoder);
  r.read("dynamic_img_size", c.image.dynamic_img_size);
  t.any_size = c.image.dynamic_img_size;
  r.read("class_token", t.class_token);
  r.read("reg_tokens", t.reg_tokens, 0, 4096);
  read_positions(r, t.pos_embed, c.encoder);
  r.read("no_embed_class", t.no_embed_class);
  r.read("pos_drop_rate", t.pos_drop_rate, 0, 0.999);
  read_pegs(r, c.pegs);
  r.read_choice("loss", c.loss);
  r.finish();
  check_sizes(where, c.image, c.encoder);
  check_positions(where, t.pos_embed, c.encoder);
  check_pegs(where, c.pegs, c.image, c.encoder);
  check(c.pegs.peg.padding == PegPadding::zero || c.pegs.positions.empty(), where,
        ": peg_padding: got none, expected zero: the head needs a token for each patch");
  return c;
}

json to_json(const DepthConfig& c) {
  json config;
  write_image(config, c.image);
  write_encoder(config, c.encoder);
  if (c.image.dynamic_img_size) config["dynamic_img_size"] = true;
  config["class_token"] = c.tokens.class_token;
  if (c.tokens.reg_tokens > 0) config["reg_tokens"] = c.tokens.reg_tokens;
  write_positions(config, c.tokens.pos_embed, c.encoder);
  config["no_embed_class"] = c.tokens.no_embed_class;
  config["pos_drop_rate"] = c.tokens.pos_drop_rate;
  write_pegs(config, c.pegs);
  config["loss"] = name_of(c.loss);
  return config;
}

}  // namespace fovea
