// Settings shared by several model families: their fields, and checks that they fit together.
#pragma once

#include <string>

#include "models/config_fields.h"
#include "models/layers/block.h"
#include "models/layers/patch_embed.h"
#include "models/layers/peg_stack.h"
#include "models/layers/pooling.h"
#include "models/layers/token_embedding.h"

namespace fovea {

/// For dropout rates.
inline constexpr ConfigField::Rule kRate{.low = 0, .high = 0.999};
inline constexpr ConfigField::Rule kSparseRate{.low = 0, .high = 0.999, .sparse = true};

/// img_size.
ConfigField& visit_img_size(ConfigFields& v, std::array<std::int64_t, 2>& img_size);
/// img_size (required), patch_size, in_chans.
void visit(ConfigFields& v, PatchConfig& c);
/// embed_dim, depth, num_heads (all required), mlp_ratio.
void visit_widths(ConfigFields& v, EncoderConfig& c);
/// These, qkv_bias, norm_eps, drop_path, and the settings of other forms of blocks.
void visit(ConfigFields& v, EncoderConfig& c);
/// class_token.
void visit_class_token(ConfigFields& v, bool& class_token);
/// class_token, global_pool.
void visit_pooling(ConfigFields& v, bool& class_token, Pooling& global_pool);
/// pos_embed.
void visit_pos_embed(ConfigFields& v, PosEmbed& pos_embed);
/// pos_embed, pos_embed_qk_first.
void visit_tables(ConfigFields& v, TokenEmbeddingConfig& c);
/// irpe; with pos_embed it determines the relative positions in attention.
void visit_relative(ConfigFields& v, const PosEmbed& pos_embed, EncoderConfig& c);
/// rope, rope_temperature.
void visit_rotary(ConfigFields& v, EncoderConfig& c);
/// peg_positions (in any order), peg_stack, peg_kernel, peg_padding and so on.
void visit(ConfigFields& v, PegStackConfig& c);

/// Throws unless the image divides into whole patches, the width into whole heads, and the parts of
/// a block fit together.
void check_sizes(const std::string& context, const PatchConfig& image, const EncoderConfig& c);
/// Throws if a sin-cos table does not fit the width, or if two relative encodings are combined.
void check_positions(const std::string& context, PosEmbed pos_embed, const EncoderConfig& c);
/// Throws if the head is to read a class token that the model does not have.
void check_pooling(const std::string& context, bool class_token, Pooling global_pool);
/// Throws if a kernel size is even, a position is not the number of a block, or PEGs without
/// padding leave no grid.
void check_pegs(const std::string& context, const PegStackConfig& c, const PatchConfig& image,
                const EncoderConfig& encoder);

}  // namespace fovea
