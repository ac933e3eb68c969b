// The settings of depth transformers.
#include <nlohmann/json.hpp>

#include "models/depth_transformer.h"
#include "models/layer_config.h"

namespace fovea {

void visit(ConfigFields& v, DepthConfig& c) {
  TokenEmbeddingConfig& t = c.tokens;
  visit(v, c.image);
  v("dynamic_img_size", &c.image.dynamic_img_size, {.sparse = true});
  v.derive([&c] { c.tokens.any_size = c.image.dynamic_img_size; });
  visit(v, c.encoder);
  visit_class_token(v, t.class_token);
  v("reg_tokens", &t.reg_tokens, {.low = 0, .high = 4096, .sparse = true});
  visit_pos_embed(v, t.pos_embed);
  visit_relative(v, t.pos_embed, c.encoder);
  visit_rotary(v, c.encoder);
  v("no_embed_class", &t.no_embed_class);
  v("pos_drop_rate", &t.pos_drop_rate, kRate);
  v("loss", &c.loss).flag("Depth", "loss, and with it the outputs: metres, or positive metres");
  visit(v, c.pegs);
}

DepthConfig read_depth_config(const nlohmann::json& config) {
  const std::string context = "depth config";
  const auto c = read_config<DepthConfig>(context, config);
  check_sizes(context, c.image, c.encoder);
  check_positions(context, c.tokens.pos_embed, c.encoder);
  check_pegs(context, c.pegs, c.image, c.encoder);
  check(c.pegs.peg.padding == PegPadding::zero || c.pegs.positions.empty(), context,
        ": peg_padding: got none, expected zero: the head needs a token for each patch");
  return c;
}

}  // namespace fovea
