// The names of DINOv2, with and without registers, in Hugging Face's transformers.
#include <array>

#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

constexpr auto kTransformersDinov2Names = std::to_array<Rename>({
    {"embeddings.cls_token", "cls_token"},
    {"embeddings.register_tokens", "reg_token"},
    {"embeddings.mask_token", ""},
    {"embeddings.position_embeddings", "pos_embed"},
    {"embeddings.patch_embeddings.projection.", "patch_embed.proj."},
    {"encoder.layer.#.", "blocks.#."},
    {"layernorm.", "norm."},
    {"classifier.", "head."},
});
constexpr auto kTransformersDinov2Blocks = std::to_array<Rename>({
    {"attention.attention.query.", "attn.qkv[0]."},
    {"attention.attention.key.", "attn.qkv[1]."},
    {"attention.attention.value.", "attn.qkv[2]."},
    {"attention.attention.qkv.", "attn.qkv."},
    {"attention.q_proj.", "attn.qkv[0]."},
    {"attention.k_proj.", "attn.qkv[1]."},
    {"attention.v_proj.", "attn.qkv[2]."},
    {"attention.output.dense.", "attn.proj."},
    {"attention.o_proj.", "attn.proj."},
    {"layer_scale1.lambda1", "ls1.gamma"},
    {"layer_scale2.lambda1", "ls2.gamma"},
    {"mlp.weights_in.", "mlp.fc1."},
    {"mlp.gate_proj.", "mlp.fc1[0]."},
    {"mlp.up_proj.", "mlp.fc1[1]."},
    {"mlp.weights_out.", "mlp.fc2."},
    {"mlp.down_proj.", "mlp.fc2."},
});
constexpr auto kTransformersDinov2Heads = std::to_array<std::string_view>({"classifier."});

void complete_transformers_dinov2(TensorMap& tensors) {
  join_parts(tensors);
  if (tensors.contains("reg_token")) move_class_position(tensors);
}

}  // namespace

const Translation kTransformersDinov2{.whose = "Hugging Face transformers",
                                      .anchor = "embeddings.patch_embeddings.projection.weight",
                                      .companion = "encoder.layer.0.layer_scale1.lambda1",
                                      .names = kTransformersDinov2Names,
                                      .block_names = kTransformersDinov2Blocks,
                                      .outside = kTransformersDinov2Heads,
                                      .complete = complete_transformers_dinov2};

}  // namespace fovea
