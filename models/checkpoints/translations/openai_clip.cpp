// The names of OpenAI's CLIP, for its image encoder, and of Meta's Perception Encoder. The
// projection is the head, without a bias.
#include <array>

#include "engine/autograd.h"
#include "models/checkpoints/translations/translation.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr auto kOpenaiClipNames = std::to_array<Rename>({
    {"class_embedding", "cls_token"},
    {"positional_embedding", "pos_embed"},
    {"conv1.weight", "patch_embed.proj.weight"},
    {"ln_pre.", "norm_pre."},
    {"transformer.resblocks.#.", "blocks.#."},
    {"ln_post.", "norm."},
    {"proj", "head.weight"},
    {"attn_pool.probe", "attn_pool.latent"},  // of Perception Encoders
    {"attn_pool.attn.in_proj_weight", "attn_pool.in.weight"},
    {"attn_pool.attn.in_proj_bias", "attn_pool.in.bias"},
    {"attn_pool.attn.out_proj.", "attn_pool.proj."},
    {"attn_pool.layernorm.", "attn_pool.norm."},
    {"attn_pool.mlp.c_fc.", "attn_pool.mlp.fc1."},
    {"attn_pool.mlp.c_proj.", "attn_pool.mlp.fc2."},
});
constexpr auto kOpenaiClipBlocks = std::to_array<Rename>({
    {"ln_1.", "norm1."},
    {"attn.in_proj_weight", "attn.qkv.weight"},
    {"attn.in_proj_bias", "attn.qkv.bias"},
    {"attn.out_proj.", "attn.proj."},
    {"ls_1.gamma", "ls1.gamma"},  // layer scale of open_clip
    {"ln_2.", "norm2."},
    {"mlp.c_fc.", "mlp.fc1."},
    {"mlp.c_proj.", "mlp.fc2."},
    {"ls_2.gamma", "ls2.gamma"},
});

/// The pooling has a layer for its query, and one for keys and values.
void split_pool(TensorMap& tensors) {
  const NoGrad no_grad;
  for (const std::string end : {"weight", "bias"}) {
    const auto joined = tensors.find("attn_pool.in." + end);
    if (joined == tensors.end() || joined->second.size(0) % 3 != 0) continue;
    const Tensor whole = joined->second;
    const std::int64_t width = whole.size(0) / 3;
    tensors.erase(joined);
    tensors["attn_pool.q." + end] = ops::slice(whole, 0, 0, width).contiguous();
    tensors["attn_pool.kv." + end] = ops::slice(whole, 0, width, 3 * width).contiguous();
  }
}

void complete_openai_clip(TensorMap& tensors) {
  add_leading_axes(tensors);
  split_pool(tensors);
  const auto head = tensors.find("head.weight");  // x @ proj there, x @ weight^T here
  if (head == tensors.end() || head->second.rank() != 2) return;
  head->second = ops::transpose(head->second, 0, 1).contiguous();
  add_head_bias(tensors);
}

}  // namespace

const Translation kOpenaiClip{.whose = "OpenAI CLIP",
                              .anchor = "conv1.weight",
                              .companion = "transformer.resblocks.0.ln_1.weight",
                              .names = kOpenaiClipNames,
                              .block_names = kOpenaiClipBlocks,
                              .settings = R"({"norm_eps": 1e-5})",
                              .complete = complete_openai_clip};

}  // namespace fovea
