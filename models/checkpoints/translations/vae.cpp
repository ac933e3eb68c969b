// Names of the VAE of latent diffusion. Ours are diffusers'. Its older versions name the parts of
// the attention otherwise; CompVis' repositories have a tree of their own, in which the decoder's
// levels are counted from the finest.
#include <algorithm>
#include <array>

#include "engine/base/text.h"
#include "models/checkpoints/translations/translation.h"
#include "ops/view.h"

namespace fovea {
namespace {

constexpr auto kOlderDiffusersNames = std::to_array<Rename>({
    {"encoder.mid_block.attentions.0.query.", "encoder.mid_block.attentions.0.to_q."},
    {"encoder.mid_block.attentions.0.key.", "encoder.mid_block.attentions.0.to_k."},
    {"encoder.mid_block.attentions.0.value.", "encoder.mid_block.attentions.0.to_v."},
    {"encoder.mid_block.attentions.0.proj_attn.", "encoder.mid_block.attentions.0.to_out.0."},
    {"decoder.mid_block.attentions.0.query.", "decoder.mid_block.attentions.0.to_q."},
    {"decoder.mid_block.attentions.0.key.", "decoder.mid_block.attentions.0.to_k."},
    {"decoder.mid_block.attentions.0.value.", "decoder.mid_block.attentions.0.to_v."},
    {"decoder.mid_block.attentions.0.proj_attn.", "decoder.mid_block.attentions.0.to_out.0."},
});

constexpr auto kCompvisNames = std::to_array<Rename>({
    {"encoder.down.#.block.#.nin_shortcut.", "encoder.down_blocks.#.resnets.#.conv_shortcut."},
    {"encoder.down.#.block.#.", "encoder.down_blocks.#.resnets.#."},
    {"encoder.down.#.downsample.", "encoder.down_blocks.#.downsamplers.0."},
    {"encoder.mid.block_1.", "encoder.mid_block.resnets.0."},
    {"encoder.mid.block_2.", "encoder.mid_block.resnets.1."},
    {"encoder.mid.attn_1.norm.", "encoder.mid_block.attentions.0.group_norm."},
    {"encoder.mid.attn_1.q.", "encoder.mid_block.attentions.0.to_q."},
    {"encoder.mid.attn_1.k.", "encoder.mid_block.attentions.0.to_k."},
    {"encoder.mid.attn_1.v.", "encoder.mid_block.attentions.0.to_v."},
    {"encoder.mid.attn_1.proj_out.", "encoder.mid_block.attentions.0.to_out.0."},
    {"encoder.norm_out.", "encoder.conv_norm_out."},
    {"decoder.up.#.block.#.nin_shortcut.", "decoder.up_blocks.#.resnets.#.conv_shortcut."},
    {"decoder.up.#.block.#.", "decoder.up_blocks.#.resnets.#."},
    {"decoder.up.#.upsample.", "decoder.up_blocks.#.upsamplers.0."},
    {"decoder.mid.block_1.", "decoder.mid_block.resnets.0."},
    {"decoder.mid.block_2.", "decoder.mid_block.resnets.1."},
    {"decoder.mid.attn_1.norm.", "decoder.mid_block.attentions.0.group_norm."},
    {"decoder.mid.attn_1.q.", "decoder.mid_block.attentions.0.to_q."},
    {"decoder.mid.attn_1.k.", "decoder.mid_block.attentions.0.to_k."},
    {"decoder.mid.attn_1.v.", "decoder.mid_block.attentions.0.to_v."},
    {"decoder.mid.attn_1.proj_out.", "decoder.mid_block.attentions.0.to_out.0."},
    {"decoder.norm_out.", "decoder.conv_norm_out."},
    {"loss.", ""},       // the perceptual loss and the discriminator of training
    {"model_ema.", ""},  // averages under names without dots
});

/// CompVis and older diffusers store the attention's weights as 1 x 1 convolutions.
void flatten_attention(TensorMap& tensors) {
  for (const char* part : {"encoder", "decoder"}) {
    for (const char* name : {"to_q", "to_k", "to_v", "to_out.0"}) {
      const std::string weight = concat(part, ".mid_block.attentions.0.", name, ".weight");
      const auto found = tensors.find(weight);
      if (found == tensors.end() || found->second.rank() != 4) continue;
      reshape_from_rank(tensors, weight, 4, {found->second.size(0), found->second.size(1)});
    }
  }
}

constexpr std::string_view kUpBlocks = "decoder.up_blocks.";

/// The level of a tensor of the decoder; -1 for other tensors.
std::int64_t up_level(std::string_view name) {
  if (!name.starts_with(kUpBlocks)) return -1;
  name.remove_prefix(kUpBlocks.size());
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? -1 : parse_integer(name.substr(0, dot)).value_or(-1);
}

/// Counts the decoder's levels from the coarsest.
void reverse_decoder_levels(TensorMap& tensors) {
  std::int64_t last = -1;
  for (const auto& entry : tensors) last = std::max(last, up_level(entry.first));
  TensorMap ours;
  for (const auto& [name, tensor] : tensors) {
    const std::int64_t level = up_level(name);
    if (level < 0) {
      ours.emplace(name, tensor);
    } else {
      const std::string rest = name.substr(name.find('.', kUpBlocks.size()));
      ours.emplace(concat(kUpBlocks, last - level, rest), tensor);
    }
  }
  tensors = std::move(ours);
}

void complete_compvis(TensorMap& tensors) {
  flatten_attention(tensors);
  reverse_decoder_levels(tensors);
}

}  // namespace

const Translation kDiffusersVae{.whose = "diffusers",
                                .ours = "",
                                .anchor = "decoder.mid_block.attentions.0.to_q.weight",
                                .companion = "decoder.mid_block.resnets.0.conv1.weight",
                                .complete = flatten_attention};

const Translation kOlderDiffusersVae{.whose = "older versions of diffusers",
                                     .ours = "diffusers'",
                                     .anchor = "decoder.mid_block.attentions.0.query.weight",
                                     .companion = "decoder.mid_block.resnets.0.conv1.weight",
                                     .names = kOlderDiffusersNames,
                                     .complete = flatten_attention};

const Translation kCompvisVae{.whose = "CompVis",
                              .ours = "diffusers'",
                              .anchor = "decoder.mid.attn_1.q.weight",
                              .companion = "decoder.mid.block_1.conv1.weight",
                              .names = kCompvisNames,
                              .complete = complete_compvis};

}  // namespace fovea
