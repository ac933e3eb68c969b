// timm's names, with those of repositories that nearly share them: DINOv2, DeiT III, CaiT, EVA.
#include <array>

#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

constexpr auto kTimmNames = std::to_array<Rename>({
    {"blocks.*.#.", "blocks.#."},  // DINOv2 in chunks of blocks: the second number goes on counting
    {"rope.freqs_cos", ""},        // EVA's tables, which follow from the image size
    {"rope.freqs_sin", ""},
});
constexpr auto kTimmBlocks = std::to_array<Rename>({
    {"gamma_1", "ls1.gamma"},
    {"gamma_2", "ls2.gamma"},
    {"mlp.w12.", "mlp.fc1."},   // gate and value of DINOv2's SwiGLU
    {"mlp.w1.", "mlp.fc1_g."},  // and of EVA's
    {"mlp.w2.", "mlp.fc1_x."},
    {"mlp.w3.", "mlp.fc2."},
    {"mlp.ffn_ln.", "mlp.norm."},
    {"attn.inner_attn_ln.", "attn.norm."},
    {"attn.rope.", ""},
});

constexpr auto kTimmHeads = std::to_array<std::string_view>({"head.weight", "head.bias"});

constexpr auto kApart = std::to_array<Rename>({
    {"attn.q_bias", "attn.q_proj.bias"},
    {"attn.v_bias", "attn.v_proj.bias"},
});
constexpr auto kOfMaskedPatches = std::to_array<Rename>({
    {"mask_token", ""}, {"lm_head.", ""}, {"norm.", "fc_norm."},  // which fine-tuning uses
});

/// EVA's biases beside layers for queries, keys and values; and its models that predict masked
/// patches.
void complete_eva(TensorMap& tensors) {
  if (tensors.contains("blocks.0.attn.q_proj.weight")) tensors = renamed(tensors, {}, kApart);
  if (tensors.contains("lm_head.weight")) tensors = renamed(tensors, kOfMaskedPatches, {});
}

/// DINOv2's mask token has two axes, MAE's has three. The class token of DINOv2 has a position, but
/// its register tokens have none.
void complete_timm(TensorMap& tensors) {
  complete_eva(tensors);
  const auto mask = tensors.find("mask_token");
  if (mask != tensors.end() && mask->second.rank() == 2) tensors.erase(mask);
  const auto registers = tensors.find("register_tokens");
  if (registers == tensors.end()) return;
  tensors.try_emplace("reg_token", registers->second);
  tensors.erase(registers);
  move_class_position(tensors);
}

}  // namespace

const Translation kTimm{.whose = "timm",
                        .ours = "",
                        .anchor = "patch_embed.proj.weight",
                        .companion = "patch_embed.proj.weight",
                        .names = kTimmNames,
                        .block_names = kTimmBlocks,
                        .outside = kTimmHeads,
                        .complete = complete_timm};

}  // namespace fovea
