// The settings of timm's class Eva (EVA-02, DINOv3, Perception Encoder, RoPE-ViT, Sapiens 2), which
// here are settings of a ViT.
#pragma once

#include <string>

#include "models/vit.h"

namespace fovea {

/// attn_type, qkv_fused, num_kv_heads, attn_only_layer_scale, swiglu_align_to, attn_pool_num_heads,
/// attn_pool_mlp_ratio, where rotary positions lie (rope_grid and others), and how they move in
/// training (rope_shift_coords and others).
void visit_eva(ConfigFields& v, ViTConfig& c);
/// Throws where they do not fit together.
void check_eva(const std::string& context, const ViTConfig& c);

}  // namespace fovea
