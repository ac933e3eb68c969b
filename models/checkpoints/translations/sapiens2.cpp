// The names of Meta's Sapiens 2, as those of timm's class Eva.
#include <array>

#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

constexpr auto kSapiens2Names = std::to_array<Rename>({
    {"storage_tokens", "reg_token"},
    {"mask_token", ""},
    {"rope_embed.", ""},
    {"patch_embed.projection.", "patch_embed.proj."},
    {"ln1.", "norm."},
});
constexpr auto kSapiens2Blocks = std::to_array<Rename>({
    {"ln1.", "norm1."},
    {"attn.wq.", "attn.q_proj."},
    {"attn.wk.", "attn.k_proj."},
    {"attn.wv.", "attn.v_proj."},
    {"attn.gamma.weight", "gamma_1"},
    {"ln2.", "norm2."},
    {"ffn.w12.", "mlp.fc1."},
    {"ffn.w3.", "mlp.fc2."},
});

}  // namespace

const Translation kSapiens2{.whose = "Sapiens 2",
                            .anchor = "patch_embed.projection.weight",
                            .companion = "blocks.0.attn.wq.weight",
                            .names = kSapiens2Names,
                            .block_names = kSapiens2Blocks};

}  // namespace fovea
