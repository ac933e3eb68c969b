// The names of Meta's DINOv3, as those of timm's class Eva.
#include <array>

#include "engine/autograd.h"
#include "models/checkpoints/translations/translation.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr auto kDinov3Names = std::to_array<Rename>({
    {"storage_tokens", "reg_token"},
    {"mask_token", ""},
    {"rope_embed.", ""},      // periods, which follow from the width of a head
    {"local_cls_norm.", ""},  // of crops in pretraining
    {"projectors.", ""},      // of distillation
});
constexpr auto kDinov3Blocks = std::to_array<Rename>({
    {"attn.qkv.bias_mask", ""},
    {"ls1.gamma", "gamma_1"},
    {"ls2.gamma", "gamma_2"},
    {"mlp.w1.", "mlp.fc1_g."},
    {"mlp.w2.", "mlp.fc1_x."},
    {"mlp.w3.", "mlp.fc2."},
});

/// The keys' part of the biases is masked there.
void complete_dinov3(TensorMap& tensors) {
  constexpr std::string_view kJoined = "qkv.bias";
  const NoGrad no_grad;
  TensorMap apart;
  std::erase_if(tensors, [&](const auto& entry) {
    const auto& [name, bias] = entry;
    if (!name.ends_with(kJoined) || bias.rank() != 1 || bias.size(0) % 3 != 0) return false;
    const std::string front = name.substr(0, name.size() - kJoined.size());
    const std::int64_t width = bias.size(0) / 3;
    apart[front + "q_bias"] = ops::slice(bias, 0, 0, width).contiguous();
    apart[front + "v_bias"] = ops::slice(bias, 0, 2 * width, 3 * width).contiguous();
    return true;
  });
  tensors.merge(apart);
}

}  // namespace

const Translation kDinov3{.whose = "DINOv3",
                          .anchor = "storage_tokens",
                          .companion = "patch_embed.proj.weight",
                          .names = kDinov3Names,
                          .block_names = kDinov3Blocks,
                          .complete = complete_dinov3};

}  // namespace fovea
