// Settings shared by several model families, read from and written to JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/config_reader.h"
#include "models/layers/block.h"
#include "models/layers/patch_embed.h"
#include "models/layers/peg_stack.h"
#include "models/layers/pooling.h"
#include "models/layers/pos_embed.h"

namespace fovea {

/// Reads img_size (required), patch_size, in_chans.
void read_image(ConfigReader& r, PatchConfig& c);
/// Reads embed_dim, depth, num_heads (all required), mlp_ratio.
void read_widths(ConfigReader& r, EncoderConfig& c);
/// Reads these, qkv_bias, norm_eps, drop_path, and the settings of other forms of blocks.
void read_encoder(ConfigReader& r, EncoderConfig& c);
/// Reads pos_embed and irpe; together they determine the relative positions in attention.
void read_positions(ConfigReader& r, PosEmbed& pos_embed, EncoderConfig& c);
/// Reads class_token, global_pool.
void read_pooling(ConfigReader& r, bool& class_token, Pooling& global_pool);
/// Reads peg_positions (sorted), peg_stack, peg_kernel, peg_padding and so on.
void read_pegs(ConfigReader& r, PegStackConfig& c);
/// Throws unless the image divides into whole patches, the width into whole heads, and the parts of
/// a block fit together.
void check_sizes(const std::string& where, const PatchConfig& image, const EncoderConfig& c);
/// Throws if a sin-cos table does not fit the width, or if two relative encodings are combined.
void check_positions(const std::string& where, PosEmbed pos_embed, const EncoderConfig& c);
/// Throws if the head is to read a class token that the model does not have.
void check_pooling(const std::string& where, bool class_token, Pooling global_pool);
/// Throws if a kernel size is even, a position is not the number of a block, or PEGs without
/// padding leave no grid.
void check_pegs(const std::string& where, const PegStackConfig& c, const PatchConfig& image,
                const EncoderConfig& encoder);

void write_image(nlohmann::json& config, const PatchConfig& c);
void write_widths(nlohmann::json& config, const EncoderConfig& c);
void write_encoder(nlohmann::json& config, const EncoderConfig& c);
void write_positions(nlohmann::json& config, PosEmbed pos_embed, const EncoderConfig& c);
void write_pooling(nlohmann::json& config, bool class_token, Pooling global_pool);
void write_pegs(nlohmann::json& config, const PegStackConfig& c);

}  // namespace fovea
