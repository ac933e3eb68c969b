// Names of timm's class Eva: EVA, EVA-02, Perception Encoder, RoPE-ViT, DINOv3, LingBot-Vision and
// Sapiens 2.
#include "models/timm_presets.h"

namespace fovea {

const std::map<std::string, const char*>& eva_groups() {
  static const std::map<std::string, const char*> all{
      {"eva", "block_fn=eva attn_type=eva global_pool=avg"},
      {"rope_index", "rope=axial rope_temperature=10000"},
      {"eva02",
       "eva rope_index rope_grid_indexing=ij ref_feat_shape=16 mlp_ratio=2.6666666666666665 "
       "act_layer=silu"},
      {"eva02_apart", "qkv_fused=false mlp_layer=swiglu scale_mlp_norm=true"},
      {"rope_gap",
       "eva rope_index rope_grid_indexing=ij ref_feat_shape=16 class_token=false pos_embed=none "
       "init_values=1e-5"},
      {"rope_vit", "eva attn_type=rope global_pool=token init_values=1e-5"},
      {"pe", "eva attn_type=rope pre_norm=true norm_eps=1e-5 rope_index"},
      {"pe_map",
       "pe global_pool=map pool_include_prefix=true attn_pool_num_heads=8 attn_pool_mlp_ratio=4"},
      {"pe_avg", "pe final_norm=false fc_norm=false"},
      {"pe_offset", "rope_grid_offset=1"},
      {"pe_gigantic", "1536x50x16 mlp_ratio=5.833333333333333 class_token=false ref_feat_shape=32"},
      {"rope_centered",
       "rope=axial rope_temperature=100 rope_grid=centered rope_grid_indexing=ij "
       "rope_rotate_half=true"},
      {"dinov3",
       "eva rope_centered reg_tokens=4 pos_embed=none norm_eps=1e-5 init_values=1e-5 "
       "dynamic_img_size=true img_size=256"},
      {"dinov3_gated", "dinov3 mlp_layer=swiglu act_layer=silu swiglu_align_to=8"},
      {"lingbot", "global_pool=token fc_norm=false img_size=512"},
      {"sapiens2",
       "eva rope_centered attn_type=rope qkv_fused=false qk_norm=true global_pool=token "
       "fc_norm=false "
       "mlp_layer=glu act_layer=silu init_values=1 attn_only_layer_scale=true reg_tokens=8 "
       "pos_embed=none norm_layer=rmsnorm dynamic_img_size=true img_size=1024x768 "
       "rope_rescale_coords=2"},
  };
  return all;
}

const std::vector<PresetRow>& eva_rows() {
  static const std::vector<PresetRow> all{
      {"vit", "eva_giant_patch14_{224,336,560}", "1408x40x16 eva mlp_ratio=4.363636363636363"},
      {"vit", "eva_giant_patch14_clip_224",
       "1408x40x16 eva mlp_ratio=4.363636363636363 global_pool=token"},
      {"vit", "eva02_{tiny,small}_patch14_{224,336}", "* eva02 mlp_layer=glu"},
      {"vit", "eva02_{base,large}_patch14_{224,448}", "* eva02 eva02_apart"},
      {"vit", "eva02_base_patch16_clip_224 eva02_large_patch14_clip_{224,336}",
       "* eva02 eva02_apart scale_attn_norm=true global_pool=token"},
      {"vit", "eva02_enormous_patch14_clip_224",
       "1792x64x16 eva block_fn=eva_post mlp_ratio=8.571428571428571 global_pool=token"},

      {"vit", "vit_{medium,base}_patch16_rope_reg1_gap_256", "* rope_gap reg_tokens=1"},
      {"vit", "vit_mediumd_patch16_rope_reg1_gap_256",
       "512x20x8 rope_gap reg_tokens=1 qkv_bias=false"},
      {"vit", "vit_betwixt_patch16_rope_reg4_gap_256", "* rope_gap reg_tokens=4"},
      {"vit", "vit_{small,large}_patch16_rope_224",
       "* rope_vit rope=axial rope_temperature=100 pos_embed=none"},
      {"vit", "vit_base_patch16_rope_224",
       "* rope_vit rope=axial rope_temperature=100 pos_embed=none fc_norm=false"},
      {"vit", "vit_{small,base,large}_patch16_rope_mixed_224",
       "* rope_vit rope=mixed rope_temperature=10 pos_embed=none"},
      {"vit", "vit_{small,base,large}_patch16_rope_ape_224",
       "* rope_vit rope=axial rope_temperature=100 no_embed_class=true"},
      {"vit", "vit_{small,base,large}_patch16_rope_mixed_ape_224",
       "* rope_vit rope=mixed rope_temperature=10 no_embed_class=true"},

      {"vit", "vit_pe_core_tiny_patch16_384", "tiny pe_map pe_offset ref_feat_shape=24"},
      {"vit", "vit_pe_core_small_patch16_384", "small pe_map pe_offset ref_feat_shape=24"},
      {"vit", "vit_pe_core_base_patch16_224", "base pe_map pe_offset ref_feat_shape=14"},
      {"vit", "vit_pe_core_large_patch14_336", "large pe_map pe_offset ref_feat_shape=24"},
      {"vit", "vit_pe_core_gigantic_patch14_448", "pe_map pe_gigantic"},
      {"vit", "vit_pe_lang_large_patch14_448",
       "1024x23x16 pe_avg pe_offset ref_feat_shape=32 init_values=0.1"},
      {"vit", "vit_pe_lang_gigantic_patch14_448", "pe_avg pe_gigantic depth=47 init_values=0.1"},
      {"vit", "vit_pe_spatial_tiny_patch16_512", "tiny pe_avg pe_offset ref_feat_shape=32"},
      {"vit", "vit_pe_spatial_small_patch16_512", "small pe_avg pe_offset ref_feat_shape=32"},
      {"vit", "vit_pe_spatial_base_patch16_512", "base pe_avg pe_offset ref_feat_shape=32"},
      {"vit", "vit_pe_spatial_large_patch14_448", "large pe_avg pe_offset ref_feat_shape=32"},
      {"vit", "vit_pe_spatial_gigantic_patch14_448", "pe_avg pe_gigantic init_values=0.1"},

      {"vit", "vit_{tiny,small,base,large}_patch16_dinov3_qkvb", "* dinov3 mean"},
      {"vit", "vit_{small,base,large}_patch16_dinov3", "* dinov3 mean qkv_bias=false"},
      {"vit", "vit_small_plus_patch16_dinov3_qkvb", "small dinov3_gated mean"},
      {"vit", "vit_small_plus_patch16_dinov3", "small dinov3_gated mean qkv_bias=false"},
      {"vit", "vit_huge_plus_patch16_dinov3_qkvb", "1280x32x20 dinov3_gated mean"},
      {"vit", "vit_huge_plus_patch16_dinov3", "1280x32x20 dinov3_gated mean qkv_bias=false"},
      {"vit", "vit_7b_patch16_dinov3",
       "4096x40x32 dinov3_gated mean qkv_bias=false mlp_ratio=2 swiglu_align_to=64"},
      {"vit", "vit_{small,base,large}_patch16_lingbot", "* dinov3 lingbot"},
      {"vit", "vit_giant_patch16_lingbot",
       "1536x40x24 dinov3_gated lingbot qkv_bias=false mlp_ratio=2.6666666666666665"},

      // All but the first and last eight blocks share keys and values between two heads.
      {"vit", "vit_base_patch16_sapiens2", "base sapiens2"},
      {"vit", "vit_large_patch16_sapiens2",
       "large sapiens2 "
       "num_kv_heads=[16,16,16,16,16,16,16,16,8,8,8,8,8,8,8,8,16,16,16,16,16,16,16,16]"},
      {"vit", "vit_huge_patch16_sapiens2",
       "1280x32x16 sapiens2 "
       "num_kv_heads=[16,16,16,16,16,16,16,16,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,16,16,16,"
       "16,16,16,16,16]"},
      {"vit", "vit_giant_patch16_sapiens2",
       "1536x40x24 sapiens2 "
       "num_kv_heads=[24,24,24,24,24,24,24,24,12,12,12,12,12,12,12,12,12,12,12,12,12,12,"
       "12,12,12,12,12,12,12,12,12,12,24,24,24,24,24,24,24,24]"},
      {"vit", "vit_5b_patch16_sapiens2",
       "2432x56x32 sapiens2 "
       "num_kv_heads=[32,32,32,32,32,32,32,32,16,16,16,16,16,16,16,16,16,16,16,16,16,16,"
       "16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,"
       "32,32,32,32,32,32,32,32]"},
  };
  return all;
}

}  // namespace fovea
