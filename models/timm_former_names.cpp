// The table of deprecated names in timm, for its ViTs and DeiTs.
#include "models/timm_former_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fovea {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

constexpr auto kFormerNames = std::to_array<Row>({
    {"vit_tiny_patch16_224_in21k", "vit_tiny_patch16_224"},
    {"vit_small_patch32_224_in21k", "vit_small_patch32_224"},
    {"vit_small_patch16_224_in21k", "vit_small_patch16_224"},
    {"vit_base_patch32_224_in21k", "vit_base_patch32_224"},
    {"vit_base_patch16_224_in21k", "vit_base_patch16_224"},
    {"vit_base_patch8_224_in21k", "vit_base_patch8_224"},
    {"vit_large_patch32_224_in21k", "vit_large_patch32_224"},
    {"vit_large_patch16_224_in21k", "vit_large_patch16_224"},
    {"vit_huge_patch14_224_in21k", "vit_huge_patch14_224"},
    {"vit_base_patch32_224_sam", "vit_base_patch32_224"},
    {"vit_base_patch16_224_sam", "vit_base_patch16_224"},
    {"vit_small_patch16_224_dino", "vit_small_patch16_224"},
    {"vit_small_patch8_224_dino", "vit_small_patch8_224"},
    {"vit_base_patch16_224_dino", "vit_base_patch16_224"},
    {"vit_base_patch8_224_dino", "vit_base_patch8_224"},
    {"vit_base_patch16_224_miil_in21k", "vit_base_patch16_224_miil"},
    {"vit_base_patch32_224_clip_laion2b", "vit_base_patch32_clip_224"},
    {"vit_large_patch14_224_clip_laion2b", "vit_large_patch14_clip_224"},
    {"vit_huge_patch14_224_clip_laion2b", "vit_huge_patch14_clip_224"},
    {"vit_giant_patch14_224_clip_laion2b", "vit_giant_patch14_clip_224"},
    {"deit3_small_patch16_224_in21ft1k", "deit3_small_patch16_224"},
    {"deit3_small_patch16_384_in21ft1k", "deit3_small_patch16_384"},
    {"deit3_medium_patch16_224_in21ft1k", "deit3_medium_patch16_224"},
    {"deit3_base_patch16_224_in21ft1k", "deit3_base_patch16_224"},
    {"deit3_base_patch16_384_in21ft1k", "deit3_base_patch16_384"},
    {"deit3_large_patch16_224_in21ft1k", "deit3_large_patch16_224"},
    {"deit3_large_patch16_384_in21ft1k", "deit3_large_patch16_384"},
    {"deit3_huge_patch14_224_in21ft1k", "deit3_huge_patch14_224"},
});

}  // namespace

std::string current_timm_name(std::string_view former) {
  const auto* const row = std::find_if(kFormerNames.begin(), kFormerNames.end(),
                                       [&](const Row& r) { return r.first == former; });
  return row == kFormerNames.end() ? "" : std::string(row->second);
}

}  // namespace fovea
