// timm's names, with those of repositories that nearly share them: DINOv2, DeiT III, CaiT.
#include <array>

#include "models/checkpoints/translations/translation.h"

namespace fovea {
namespace {

constexpr auto kTimmNames = std::to_array<Rename>({
    {"blocks.*.#.", "blocks.#."},  // DINOv2 in chunks of blocks: the second number goes on counting
});
constexpr auto kTimmBlocks = std::to_array<Rename>({
    {"gamma_1", "ls1.gamma"},
    {"gamma_2", "ls2.gamma"},
    {"mlp.w12.", "mlp.fc1."},  // gate and value of DINOv2's SwiGLU
    {"mlp.w3.", "mlp.fc2."},
});

constexpr auto kTimmHeads = std::to_array<std::string_view>({"head.weight", "head.bias"});

/// DINOv2's mask token has two axes, MAE's has three. The class token of DINOv2 has a position, but
/// its register tokens have none.
void complete_timm(TensorMap& tensors) {
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
