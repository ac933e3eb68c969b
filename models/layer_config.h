// The settings that several families share, read from JSON and written to it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/config_reader.h"
#include "models/layers/block.h"
#include "models/layers/patch_embed.h"
#include "models/layers/pooling.h"
#include "models/layers/pos_embed.h"

namespace fovea {

/// img_size (required), patch_size, in_chans.
void read_image(ConfigReader& r, PatchConfig& c);
/// embed_dim, depth, num_heads (all required), mlp_ratio, qkv_bias, norm_eps, drop_path.
void read_encoder(ConfigReader& r, EncoderConfig& c);
/// pos_embed, and irpe: which of attention's relative positions there are follows from both.
void read_positions(ConfigReader& r, PosEmbed& pos_embed, EncoderConfig& c);
/// class_token, global_pool.
void read_pooling(ConfigReader& r, bool& class_token, Pooling& global_pool);
/// Throws unless the image is cut into whole patches and the width into whole heads.
void check_sizes(const std::string& where, const PatchConfig& image, const EncoderConfig& c);
/// Throws on a sin-cos table that does not fit the width and on two relative encodings at once.
void check_positions(const std::string& where, PosEmbed pos_embed, const EncoderConfig& c);
/// Throws where the head is to read a class token that is not there.
void check_pooling(const std::string& where, bool class_token, Pooling global_pool);

void write_image(nlohmann::json& config, const PatchConfig& c);
void write_encoder(nlohmann::json& config, const EncoderConfig& c);
void write_positions(nlohmann::json& config, PosEmbed pos_embed, const EncoderConfig& c);
void write_pooling(nlohmann::json& config, bool class_token, Pooling global_pool);

}  // namespace fovea
