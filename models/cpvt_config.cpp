// Reading and writing the configuration of CPVT as JSON.
#include <nlohmann/json.hpp>

#include "models/cpvt.h"
#include "models/layer_config.h"

namespace fovea {
namespace {

using nlohmann::json;

void check_first_table(const CPVTConfig& c) {
  if (!c.tokens.pos_embed_qk_first) return;
  check(c.tokens.pos_embed == PosEmbed::learned || c.tokens.pos_embed == PosEmbed::sincos,
        "cpvt config: pos_embed_qk_first needs pos_embed learned or sincos");
  const bool shrunken = !c.pegs.positions.empty() && c.pegs.positions.front() < 0 &&
                        c.pegs.peg.padding == PegPadding::none;
  check(!shrunken, "cpvt config: pos_embed_qk_first: the PEG at -1 without padding leaves block 0 ",
        "fewer tokens than pos_embed has");
}

}  // namespace

CPVTConfig read_cpvt_config(const json& config) {
  CPVTConfig c;
  ConfigReader r("cpvt config", config);
  read_image(r, c.image);
  read_encoder(r, c.encoder);
  r.read("num_classes", c.num_classes, 0);
  read_pooling(r, c.tokens.class_token, c.global_pool);
  read_positions(r, c.tokens.pos_embed, c.encoder);
  r.read("pos_embed_qk_first", c.tokens.pos_embed_qk_first);
  read_pegs(r, c.pegs);
  r.finish();
  check_sizes("cpvt config", c.image, c.encoder);
  check_positions("cpvt config", c.tokens.pos_embed, c.encoder);
  check_pooling("cpvt config", c.tokens.class_token, c.global_pool);
  check_pegs("cpvt config", c.pegs, c.image, c.encoder);
  check_first_table(c);
  return c;
}

json to_json(const CPVTConfig& c) {
  json config;
  write_image(config, c.image);
  write_encoder(config, c.encoder);
  config["num_classes"] = c.num_classes;
  write_pooling(config, c.tokens.class_token, c.global_pool);
  write_positions(config, c.tokens.pos_embed, c.encoder);
  config["pos_embed_qk_first"] = c.tokens.pos_embed_qk_first;
  write_pegs(config, c.pegs);
  return config;
}

}  // namespace fovea
