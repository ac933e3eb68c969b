// The names of OpenAI's CLIP, for its image encoder. Its projection is the head, without a bias.
#include <array>

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

void complete_openai_clip(TensorMap& tensors) {
  add_leading_axes(tensors);
  const auto head = tensors.find("head.weight");  // x @ proj there, x @ weight^T here
  if (head == tensors.end() || head->second.rank() != 2) return;
  head->second = ops::transpose(head->second, 0, 1).contiguous();
  add_head_bias(tensors);
}

}  // namespace

const Translation kOpenaiClip{.whose = "OpenAI CLIP",
                              .anchor = "conv1.weight",
                              .companion = "class_embedding",
                              .names = kOpenaiClipNames,
                              .block_names = kOpenaiClipBlocks,
                              .settings = R"({"norm_eps": 1e-5})",
                              .complete = complete_openai_clip};

}  // namespace fovea
