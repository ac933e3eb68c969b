// Further names, mostly of timm's vision transformers, whose weights are published under them:
// CLIP, SigLIP, DINOv2, DeiT III, AIMv2 and others.
#include "models/timm_presets.h"

namespace fovea {

const std::map<std::string, const char*>& timm_groups() {
  static const std::map<std::string, const char*> all{
      {"aimv2",
       "mean no_cls qkv_bias=false proj_bias=false act_layer=silu norm_layer=rmsnorm "
       "norm_eps=1e-5 embed_norm_layer=rmsnorm mlp_layer=swiglu"},
      {"beit3", "global_pool=avg scale_attn_norm=true scale_mlp_norm=true norm_eps=1e-5"},
      {"clip", "pre_norm=true norm_eps=1e-5"},
      {"deit3", "no_embed_class=true init_values=1e-6"},
      {"dinov2", "img_size=518 init_values=1e-5"},
      {"radio", "img_size=512 no_embed_class=true final_norm=false"},
      {"siglip", "no_cls global_pool=map"},
      {"xp",
       "pre_norm=true no_embed_class=true norm_layer=rmsnorm block_fn=parallel_scaling "
       "qkv_bias=false qk_norm=true"},
      {"tipsv2", "img_size=448 init_values=1 reg_tokens=1 no_embed_class=true"},
      // timm's own models with registers instead of a class token.
      {"gap", "no_cls global_pool=avg"},
      {"reg_gap", "gap no_embed_class=true init_values=1e-5"},
      // Sizes and other parts of several of them.
      {"medium", "512x12x8"},
      {"betwixt", "640x12x10"},
      {"giantopt", "1536x40x16"},
      {"so400m", "1152x27x16"},
      {"giant_mlp", "mlp_ratio=5.33334 mlp_layer=glu act_layer=silu"},
      {"mean", "global_pool=avg fc_norm=false"},
      {"no_cls", "class_token=false"},
      {"tanh", "act_layer=gelu_tanh"},
      {"quick", "act_layer=quick_gelu"},
  };
  return all;
}

const std::vector<PresetRow>& timm_rows() {
  static const std::vector<PresetRow> all{
      {"vit",
       "vit_{small,base}_patch8_224 vit_{small,base,large}_patch32_{224,384} vit_large_patch14_224",
       "*"},
      {"dit", "dit_{s,b,xl}_1 dit_{s,b,l,xl}_{4,8}", "dit_* img_size=32 in_chans=4"},

      {"vit", "aimv2_large_patch14_{224,336,448}", "1024x24x8 aimv2 mlp_ratio=2.75"},
      {"vit", "aimv2_huge_patch14_{224,336,448}", "1536x24x12 aimv2 mlp_ratio=2.6667"},
      {"vit", "aimv2_1b_patch14_{224,336,448}", "2048x24x16 aimv2 mlp_ratio=2.75"},
      {"vit", "aimv2_3b_patch14_{224,336,448}", "3072x24x24 aimv2 mlp_ratio=2.6667"},

      {"vit", "beit3_{base,large}_patch16_224", "* beit3"},
      {"vit", "beit3_giant_patch14_{224,336}", "1408x40x16 beit3 mlp_ratio=4.3637"},

      {"vit",
       "deit3_{small,base,large}_patch16_{224,384} deit3_medium_patch16_224 "
       "deit3_huge_patch14_224",
       "* deit3"},

      {"vit", "eva_large_patch14_{196,336}", "1024x24x16 global_pool=avg"},

      {"vit", "flexivit_{small,base,large}", "* patch_size=16 img_size=240 no_embed_class=true"},

      {"vit", "test_vit", "64x6x2 patch_size=16 img_size=160 mlp_ratio=3 dynamic_img_size=true"},
      {"vit", "test_vit2",
       "64x8x2 patch_size=16 img_size=160 mlp_ratio=3 gap reg_tokens=1 init_values=1e-5 "
       "dynamic_img_size=true"},
      {"vit", "test_vit3",
       "96x9x3 patch_size=16 img_size=160 mlp_ratio=2 siglip reg_tokens=1 init_values=1e-5 "
       "pool_include_prefix=true"},
      {"vit", "test_vit4",
       "96x9x3 patch_size=16 img_size=160 mlp_ratio=3 gap reg_tokens=1 init_values=1e-5 "
       "dynamic_img_size=true norm_layer=rmsnorm"},

      {"vit", "vit_xsmall_patch16_clip_224", "256x10x4 clip"},
      {"vit",
       "vit_medium_patch{16,32}_clip_224 vit_betwixt_patch32_clip_224 "
       "vit_base_patch16_clip_{224,384} vit_base_patch32_clip_{224,256,384,448} "
       "vit_large_patch14_clip_{224,336} vit_huge_patch14_clip_{224,336,378}",
       "* clip"},
      {"vit",
       "vit_base_patch{16,32}_clip_quickgelu_224 vit_large_patch14_clip_quickgelu_{224,336} "
       "vit_huge_patch14_clip_quickgelu_{224,378}",
       "* clip quick"},
      {"vit", "vit_base_patch16_plus_clip_240", "896x12x14 clip"},
      {"vit", "vit_giant_patch14_clip_224", "1408x40x16 clip mlp_ratio=4.363636363636363"},
      {"vit", "vit_gigantic_patch14_clip_{224,378}", "1664x48x16 clip mlp_ratio=4.923076923076923"},
      {"vit", "vit_gigantic_patch14_clip_quickgelu_224",
       "1664x48x16 clip quick mlp_ratio=4.923076923076923"},

      {"vit", "vit_{small,base,large}_patch14_dinov2", "* dinov2"},
      {"vit", "vit_giant_patch14_dinov2", "1536x40x24 dinov2 giant_mlp"},
      {"vit", "vit_{small,base,large}_patch14_reg4_dinov2",
       "* dinov2 reg_tokens=4 no_embed_class=true"},
      {"vit", "vit_giant_patch14_reg4_dinov2",
       "1536x40x24 dinov2 giant_mlp reg_tokens=4 no_embed_class=true"},

      {"vit", "vit_{base,large}_patch14_reg1_tipsv2", "* tipsv2"},
      {"vit", "vit_so400m_patch14_reg1_tipsv2", "* tipsv2 mlp_ratio=3.736111111111111"},
      {"vit", "vit_giant_patch14_reg1_tipsv2", "1536x40x24 tipsv2 giant_mlp"},

      {"vit", "vit_{base,large}_patch16_radio_v3", "* radio reg_tokens=7 init_values=1e-5"},
      {"vit", "vit_huge_patch16_radio_v3", "1280x32x16 radio reg_tokens=7"},
      {"vit", "vit_giant_patch16_radio_v3", "1536x40x24 radio reg_tokens=7"},
      {"vit", "vit_so400m_patch16_radio_v4", "* radio reg_tokens=9 mlp_ratio=3.736111111111111"},
      {"vit", "vit_huge_patch16_radio_v4", "1280x32x16 radio reg_tokens=9"},

      {"vit", "vit_base_patch16_siglip_{224,256,384,512} vit_large_patch16_siglip_{256,384}",
       "* siglip"},
      {"vit",
       "vit_base_patch32_siglip_256 vit_large_patch16_siglip_512 "
       "vit_giantopt_patch16_siglip_{256,384}",
       "* siglip tanh"},
      {"vit", "vit_so400m_patch14_siglip_{224,378}", "* siglip mlp_ratio=3.7362"},
      {"vit", "vit_so400m_patch14_siglip_384", "* siglip mlp_ratio=3.7362 crop_to_patches=true"},
      {"vit", "vit_so400m_patch16_siglip_{256,384,512}", "* siglip tanh mlp_ratio=3.7362"},
      {"vit",
       "vit_base_patch16_siglip_gap_{224,256,384,512} vit_large_patch16_siglip_gap_{256,384}",
       "* no_cls mean"},
      {"vit",
       "vit_base_patch32_siglip_gap_256 vit_large_patch16_siglip_gap_512 "
       "vit_giantopt_patch16_siglip_gap_{256,384}",
       "* no_cls mean tanh"},
      {"vit", "vit_so400m_patch14_siglip_gap_{224,378,448,896}", "* no_cls mean mlp_ratio=3.7362"},
      {"vit", "vit_so400m_patch14_siglip_gap_384",
       "* no_cls mean mlp_ratio=3.7362 crop_to_patches=true"},
      {"vit", "vit_so400m_patch16_siglip_gap_{256,384,512}", "* no_cls mean tanh mlp_ratio=3.7362"},

      {"vit", "vit_base_patch16_gap_224", "768x12x16 no_cls mean"},
      {"vit", "vit_betwixt_patch16_gap_256 vit_medium_patch16_gap_{240,256,384}",
       "* no_cls mean qkv_bias=false init_values=1e-6"},
      {"vit", "vit_intern300m_patch14_448",
       "1024x24x16 init_values=0.1 final_norm=false dynamic_img_size=true"},
      {"vit", "vit_huge_patch{14_gap_224,16_gap_448}", "1280x32x16 no_cls mean"},
      {"vit", "vit_giant_patch16_gap_224", "1408x40x16 no_cls mean mlp_ratio=4.363636363636363"},

      {"vit", "vit_wee_patch16_reg1_gap_256", "256x14x4 reg_gap reg_tokens=1 mlp_ratio=5"},
      {"vit", "vit_dwee_patch16_reg1_gap_256",
       "256x14x4 reg_gap reg_tokens=1 mlp_ratio=5 attn_layer=diff"},
      {"vit", "vit_pwee_patch16_reg1_gap_256",
       "256x16x4 reg_gap reg_tokens=1 mlp_ratio=5 block_fn=parallel_scaling"},
      {"vit", "vit_dpwee_patch16_reg1_gap_256",
       "256x16x4 reg_gap reg_tokens=1 mlp_ratio=5 block_fn=diff_parallel_scaling"},
      {"vit", "vit_little_patch16_reg1_gap_256", "320x14x5 reg_gap reg_tokens=1 mlp_ratio=5.6"},
      {"vit", "vit_little_patch16_reg4_gap_256", "320x14x5 reg_gap reg_tokens=4 mlp_ratio=5.6"},
      {"vit", "vit_dlittle_patch16_reg1_gap_256",
       "320x14x5 reg_gap reg_tokens=1 mlp_ratio=5.6 attn_layer=diff"},
      {"vit", "vit_{medium,betwixt}_patch16_reg1_gap_256", "* reg_gap reg_tokens=1"},
      {"vit", "vit_medium_patch16_reg4_gap_256 vit_betwixt_patch16_reg4_gap_{256,384}",
       "* reg_gap reg_tokens=4"},
      {"vit", "vit_mediumd_patch16_reg4_gap_{256,384}", "512x20x8 reg_gap reg_tokens=4"},
      {"vit", "vit_base_patch16_reg4_gap_256", "768x12x12 gap no_embed_class=true reg_tokens=4"},
      {"vit", "vit_so150m_patch16_reg4_map_256", "896x18x14 siglip reg_tokens=4 mlp_ratio=2.572"},
      {"vit", "vit_so150m_patch16_reg4_gap_{256,384}",
       "896x18x14 no_cls mean reg_tokens=4 mlp_ratio=2.572"},
      {"vit", "vit_so150m2_patch16_reg1_gap_{256,384,448}",
       "832x21x13 gap reg_tokens=1 mlp_ratio=2.6153846153846154 init_values=1e-5 qkv_bias=false"},

      {"vit", "vit_giant_patch14_224", "1408x40x16 mlp_ratio=4.363636363636363"},
      {"vit", "vit_gigantic_patch14_224", "1664x48x16 mlp_ratio=4.923076923076923"},
      {"vit", "vit_base_patch{16_plus_240,32_plus_256}", "896x12x14 init_values=1e-5"},
      {"vit", "vit_base_patch16_xp_224 vit_{large,huge}_patch14_xp_224", "* xp"},
      {"vit", "vit_small_patch16_36x1_224", "384x36x6 init_values=1e-5"},
      {"vit", "vit_small_patch16_18x2_224", "384x18x6 init_values=1e-5 block_fn=parallel_things"},
      {"vit", "vit_base_patch16_18x2_224", "768x18x12 init_values=1e-5 block_fn=parallel_things"},
      {"vit", "vit_base_patch16_224_miil", "768x12x12 qkv_bias=false"},
      {"vit", "vit_base_patch16_rpn_224",
       "768x12x12 gap qkv_bias=false init_values=1e-5 block_fn=res_post"},
  };
  return all;
}

}  // namespace fovea
