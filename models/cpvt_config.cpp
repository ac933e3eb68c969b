// Reading and writing the configuration of CPVT as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/cpvt.h"
#include "models/layer_config.h"

namespace fovea {
namespace {

using nlohmann::json;

void read_pegs(ConfigReader& r, CPVTConfig& c) {
  r.read("peg_positions", c.peg_positions);
  std::sort(c.peg_positions.begin(), c.peg_positions.end());
  r.read("peg_stack", c.peg_stack, 1, 1000);
  r.read("peg_kernel", c.peg.kernel, 1, 1001);
  r.read_choice("peg_padding", c.peg.padding);
  r.read_choice("peg_conv", c.peg.conv);
  r.read("peg_residual", c.peg.residual);
  r.read("peg_frozen", c.peg.frozen);
  r.read_choice("peg_init", c.peg.init);
}

void check_pegs(const CPVTConfig& c) {
  check(c.peg.kernel % 2 == 1, "cpvt config: peg_kernel: got ", c.peg.kernel,
        ", expected an odd number");
  for (std::size_t i = 0; i < c.peg_positions.size(); ++i) {
    const std::int64_t position = c.peg_positions[i];
    check(position >= -1 && position < c.encoder.depth, "cpvt config: peg_positions: got ",
          position, ", expected -1 to ", c.encoder.depth - 1, ", the last block");
    check(i == 0 || position != c.peg_positions[i - 1], "cpvt config: peg_positions: got ",
          position, " twice; peg_stack puts several PEGs in a row");
  }
  if (c.peg.padding == PegPadding::zero) return;
  const auto pegs = std::ssize(c.peg_positions) * c.peg_stack;
  const auto [height, width] = c.image.grid();
  check(std::min(height, width) > 2 * c.peg.margin() * pegs, "cpvt config: ", pegs,
        " PEGs of kernel ", c.peg.kernel, " without padding leave nothing of a grid of ", height,
        "x", width);
}

void check_first_table(const CPVTConfig& c) {
  if (!c.tokens.pos_embed_qk_first) return;
  check(c.tokens.pos_embed == PosEmbed::learned || c.tokens.pos_embed == PosEmbed::sincos,
        "cpvt config: pos_embed_qk_first needs pos_embed learned or sincos");
  const bool shrunken =
      !c.peg_positions.empty() && c.peg_positions.front() < 0 && c.peg.padding == PegPadding::none;
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
  read_pegs(r, c);
  r.finish();
  check_sizes("cpvt config", c.image, c.encoder);
  check_positions("cpvt config", c.tokens.pos_embed, c.encoder);
  check_pooling("cpvt config", c.tokens.class_token, c.global_pool);
  check_pegs(c);
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
  config["peg_positions"] = c.peg_positions;
  config["peg_stack"] = c.peg_stack;
  config["peg_kernel"] = c.peg.kernel;
  config["peg_padding"] = name_of(c.peg.padding);
  config["peg_conv"] = name_of(c.peg.conv);
  config["peg_residual"] = c.peg.residual;
  config["peg_frozen"] = c.peg.frozen;
  config["peg_init"] = name_of(c.peg.init);
  return config;
}

}  // namespace fovea
