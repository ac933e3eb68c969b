// The names of DINOv3's ViTs in Hugging Face's transformers, as those of timm's class Eva.
#include <array>

#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

constexpr auto kTransformersDinov3Names = std::to_array<Rename>({
    {"embeddings.cls_token", "cls_token"},
    {"embeddings.register_tokens", "reg_token"},
    {"embeddings.mask_token", ""},
    {"embeddings.patch_embeddings.", "patch_embed.proj."},
    {"layer.#.", "blocks.#."},
});
constexpr auto kTransformersDinov3Blocks = std::to_array<Rename>({
    {"attention.q_proj.", "attn.q_proj."},
    {"attention.k_proj.", "attn.k_proj."},
    {"attention.v_proj.", "attn.v_proj."},
    {"attention.o_proj.", "attn.proj."},
    {"layer_scale1.lambda1", "gamma_1"},
    {"layer_scale2.lambda1", "gamma_2"},
    {"mlp.gate_proj.", "mlp.fc1_g."},
    {"mlp.up_proj.", "mlp.fc1_x."},
    {"mlp.down_proj.", "mlp.fc2."},
});
constexpr auto kUngated = std::to_array<Rename>({{"mlp.fc1_x.", "mlp.fc1."}});

/// Without registers there is a tensor of none; without a gate the first layer has another name.
void complete_transformers_dinov3(TensorMap& tensors) {
  const auto registers = tensors.find("reg_token");
  if (registers != tensors.end() && registers->second.numel() == 0) tensors.erase(registers);
  if (!tensors.contains("blocks.0.mlp.fc1_g.weight")) tensors = renamed(tensors, {}, kUngated);
}

}  // namespace

const Translation kTransformersDinov3{.whose = "Hugging Face transformers",
                                      .anchor = "embeddings.patch_embeddings.weight",
                                      .companion = "layer.0.layer_scale1.lambda1",
                                      .names = kTransformersDinov3Names,
                                      .block_names = kTransformersDinov3Blocks,
                                      .complete = complete_transformers_dinov3};

}  // namespace fovea
