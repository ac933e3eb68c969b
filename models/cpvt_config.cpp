// The settings of CPVT.
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

void visit(ConfigFields& v, CPVTConfig& c) {
  visit(v, c.image);
  visit(v, c.encoder);
  v("num_classes", &c.num_classes, {0});
  visit_pooling(v, c.tokens.class_token, c.global_pool);
  visit_tables(v, c.tokens);
  visit_relative(v, c.tokens.pos_embed, c.encoder);
  visit_rotary(v, c.encoder);
  visit(v, c.pegs);
}

CPVTConfig read_cpvt_config(const json& config) {
  const auto c = read_config<CPVTConfig>("cpvt config", config);
  check_sizes("cpvt config", c.image, c.encoder);
  check_positions("cpvt config", c.tokens.pos_embed, c.encoder);
  check_pooling("cpvt config", c.tokens.class_token, c.global_pool);
  check_pegs("cpvt config", c.pegs, c.image, c.encoder);
  check_first_table(c);
  check(c.encoder.rope == Rope::none || c.pegs.peg.padding == PegPadding::zero,
        "cpvt config: peg_padding none shrinks the grid and excludes rope");
  return c;
}

}  // namespace fovea
