// The names of ViT, DeiT and ViT-MAE in Hugging Face's transformers: those of its files, and those
// that its modules have since version 5 ("layers", "q_proj").
#include <array>

#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

constexpr auto kTransformersVitNames = std::to_array<Rename>({
    {"embeddings.cls_token", "cls_token"},
    {"embeddings.distillation_token", "dist_token"},
    {"embeddings.mask_token", ""},  // of masked image modelling
    {"embeddings.position_embeddings", "pos_embed"},
    {"embeddings.patch_embeddings.projection.", "patch_embed.proj."},
    {"encoder.layer.#.", "blocks.#."},
    {"layers.#.", "blocks.#."},
    {"layernorm.", "norm."},
    {"pooler.", ""},  // of language models; no classifier reads it
    {"classifier.", "head."},
    {"cls_classifier.", "head."},
    {"distillation_classifier.", "head_dist."},
    {"decoder.mask_token", "mask_token"},
    {"decoder.decoder_layers.#.", "decoder_blocks.#."},
    {"decoder.decoder_encoder.layer.#.", "decoder_blocks.#."},
    {"decoder.decoder_pos_embed", "decoder_pos_embed"},
    {"decoder.decoder_embed.", "decoder_embed."},
    {"decoder.decoder_norm.", "decoder_norm."},
    {"decoder.decoder_pred.", "decoder_pred."},
    {"decoder.0.", ""},  // the convolution that decodes masked image modelling
});
constexpr auto kTransformersVitBlocks = std::to_array<Rename>({
    {"layernorm_before.", "norm1."},
    {"attention.attention.query.", "attn.qkv[0]."},
    {"attention.attention.key.", "attn.qkv[1]."},
    {"attention.attention.value.", "attn.qkv[2]."},
    {"attention.attention.qkv.", "attn.qkv."},
    {"attention.q_proj.", "attn.qkv[0]."},
    {"attention.k_proj.", "attn.qkv[1]."},
    {"attention.v_proj.", "attn.qkv[2]."},
    {"attention.qkv_proj.", "attn.qkv."},
    {"attention.output.dense.", "attn.proj."},
    {"attention.o_proj.", "attn.proj."},
    {"layernorm_after.", "norm2."},
    {"intermediate.dense.", "mlp.fc1."},
    {"output.dense.", "mlp.fc2."},
});
constexpr auto kTransformersVitHeads = std::to_array<std::string_view>(
    {"classifier.", "cls_classifier.", "distillation_classifier.", "decoder."});

/// A DeiT with a single head sees its distillation token as a register token: nothing reads it.
void complete_transformers_vit(TensorMap& tensors) {
  join_parts(tensors);
  const auto token = tensors.find("dist_token");
  if (token == tensors.end() || tensors.contains("head_dist.weight")) return;
  tensors.try_emplace("reg_token", token->second);
  tensors.erase("dist_token");
}

}  // namespace

const Translation kTransformersVit{.whose = "Hugging Face transformers",
                                   .anchor = "embeddings.patch_embeddings.projection.weight",
                                   .companion = "layernorm.weight",
                                   .names = kTransformersVitNames,
                                   .block_names = kTransformersVitBlocks,
                                   .outside = kTransformersVitHeads,
                                   .settings = R"({"norm_eps": 1e-12})",
                                   .complete = complete_transformers_vit};

}  // namespace fovea
