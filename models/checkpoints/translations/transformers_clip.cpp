// The names of CLIP's image encoder in Hugging Face's transformers. Its projection is the head,
// without a bias. "pre_layrnorm" is spelled so there.
#include <array>

#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

constexpr auto kTransformersClipNames = std::to_array<Rename>({
    {"embeddings.class_embedding", "cls_token"},
    {"embeddings.patch_embedding.weight", "patch_embed.proj.weight"},
    {"embeddings.position_embedding.weight", "pos_embed"},
    {"embeddings.position_ids", ""},  // 0, 1, 2, ...
    {"pre_layrnorm.", "norm_pre."},
    {"encoder.layers.#.", "blocks.#."},
    {"post_layernorm.", "norm."},
    {"visual_projection.weight", "head.weight"},
    {"classifier.", "head."},
});
constexpr auto kTransformersClipBlocks = std::to_array<Rename>({
    {"layer_norm1.", "norm1."},
    {"self_attn.q_proj.", "attn.qkv[0]."},
    {"self_attn.k_proj.", "attn.qkv[1]."},
    {"self_attn.v_proj.", "attn.qkv[2]."},
    {"self_attn.out_proj.", "attn.proj."},
    {"layer_norm2.", "norm2."},
});
constexpr auto kTransformersClipHeads =
    std::to_array<std::string_view>({"visual_projection.", "classifier."});

/// A classifier reads the mean of the patches before the last norm, which it does not use.
void complete_transformers_clip(TensorMap& tensors) {
  const bool classifies = tensors.contains("head.bias");
  join_parts(tensors);
  add_leading_axes(tensors);
  add_head_bias(tensors);
  if (!classifies) return;
  tensors.erase("norm.weight");
  tensors.erase("norm.bias");
}

}  // namespace

const Translation kTransformersClip{.whose = "Hugging Face transformers",
                                    .anchor = "embeddings.patch_embedding.weight",
                                    .companion = "embeddings.class_embedding",
                                    .names = kTransformersClipNames,
                                    .block_names = kTransformersClipBlocks,
                                    .outside = kTransformersClipHeads,
                                    .settings = R"({"norm_eps": 1e-5})",
                                    .complete = complete_transformers_clip};

}  // namespace fovea
