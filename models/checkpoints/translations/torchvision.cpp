// torchvision's names of the ViT. The MLP is mlp.0 and mlp.3 since 0.12, and was mlp.linear_1 and
// mlp.linear_2 before.
#include <array>

#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

constexpr auto kTorchvisionNames = std::to_array<Rename>({
    {"class_token", "cls_token"},
    {"conv_proj.", "patch_embed.proj."},
    {"encoder.pos_embedding", "pos_embed"},
    {"encoder.layers.encoder_layer_#.", "blocks.#."},
    {"encoder.ln.", "norm."},
    {"heads.head.", "head."},
    {"heads.0.", "head."},
});
constexpr auto kTorchvisionBlocks = std::to_array<Rename>({
    {"ln_1.", "norm1."},
    {"self_attention.in_proj_weight", "attn.qkv.weight"},
    {"self_attention.in_proj_bias", "attn.qkv.bias"},
    {"self_attention.out_proj.", "attn.proj."},
    {"ln_2.", "norm2."},
    {"mlp.0.", "mlp.fc1."},
    {"mlp.3.", "mlp.fc2."},
    {"mlp.linear_1.", "mlp.fc1."},
    {"mlp.linear_2.", "mlp.fc2."},
});

}  // namespace

const Translation kTorchvision{.whose = "torchvision",
                               .anchor = "conv_proj.weight",
                               .companion = "class_token",
                               .names = kTorchvisionNames,
                               .block_names = kTorchvisionBlocks,
                               .settings = R"({"norm_eps": 1e-6})"};

}  // namespace fovea
