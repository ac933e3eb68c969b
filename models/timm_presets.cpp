// The table of timm's names, and how a row becomes settings.
#include "models/timm_presets.h"

#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/text.h"
#include "models/config_reader.h"

namespace fovea {
namespace {

using nlohmann::json;

/// Names that differ in patch and image only.
struct TimmRow {
  const char* names;  ///< {a,b} expands to a and b
  std::int64_t embed_dim, depth, num_heads;
  const char* settings;  ///< words of kGroups and KEY=VALUE; later ones replace earlier ones
};

/// Settings that occur together. Most have the name of the paper or of timm's word for them.
const std::map<std::string, const char*>& groups() {
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
      // Parts of several of them.
      {"giant_mlp", "mlp_ratio=5.33334 mlp_layer=glu act_layer=silu"},
      {"mean", "global_pool=avg fc_norm=false"},
      {"no_cls", "class_token=false"},
      {"tanh", "act_layer=gelu_tanh"},
      {"quick", "act_layer=quick_gelu"},
  };
  return all;
}

/// Where names differ in patch and image only, but not all settings are equal, the first row also
/// holds for sizes that timm does not have.
const std::vector<TimmRow>& timm_rows() {
  static const std::vector<TimmRow> all{
      {"aimv2_large_patch14_{224,336,448}", 1024, 24, 8, "aimv2 mlp_ratio=2.75"},
      {"aimv2_huge_patch14_{224,336,448}", 1536, 24, 12, "aimv2 mlp_ratio=2.6667"},
      {"aimv2_1b_patch14_{224,336,448}", 2048, 24, 16, "aimv2 mlp_ratio=2.75"},
      {"aimv2_3b_patch14_{224,336,448}", 3072, 24, 24, "aimv2 mlp_ratio=2.6667"},

      {"beit3_base_patch16_224", 768, 12, 12, "beit3"},
      {"beit3_large_patch16_224", 1024, 24, 16, "beit3"},
      {"beit3_giant_patch14_{224,336}", 1408, 40, 16, "beit3 mlp_ratio=4.3637"},

      {"deit3_small_patch16_{224,384}", 384, 12, 6, "deit3"},
      {"deit3_medium_patch16_224", 512, 12, 8, "deit3"},
      {"deit3_base_patch16_{224,384}", 768, 12, 12, "deit3"},
      {"deit3_large_patch16_{224,384}", 1024, 24, 16, "deit3"},
      {"deit3_huge_patch14_224", 1280, 32, 16, "deit3"},

      {"eva_large_patch14_{196,336}", 1024, 24, 16, "global_pool=avg"},

      {"flexivit_small", 384, 12, 6, "patch_size=16 img_size=240 no_embed_class=true"},
      {"flexivit_base", 768, 12, 12, "patch_size=16 img_size=240 no_embed_class=true"},
      {"flexivit_large", 1024, 24, 16, "patch_size=16 img_size=240 no_embed_class=true"},

      {"test_vit", 64, 6, 2, "patch_size=16 img_size=160 mlp_ratio=3 dynamic_img_size=true"},
      {"test_vit2", 64, 8, 2,
       "patch_size=16 img_size=160 mlp_ratio=3 gap reg_tokens=1 init_values=1e-5 "
       "dynamic_img_size=true"},
      {"test_vit3", 96, 9, 3,
       "patch_size=16 img_size=160 mlp_ratio=2 siglip reg_tokens=1 init_values=1e-5 "
       "pool_include_prefix=true"},
      {"test_vit4", 96, 9, 3,
       "patch_size=16 img_size=160 mlp_ratio=3 gap reg_tokens=1 init_values=1e-5 "
       "dynamic_img_size=true norm_layer=rmsnorm"},

      {"vit_xsmall_patch16_clip_224", 256, 10, 4, "clip"},
      {"vit_medium_patch{16,32}_clip_224", 512, 12, 8, "clip"},
      {"vit_betwixt_patch32_clip_224", 640, 12, 10, "clip"},
      {"vit_base_patch16_clip_{224,384}", 768, 12, 12, "clip"},
      {"vit_base_patch32_clip_{224,256,384,448}", 768, 12, 12, "clip"},
      {"vit_base_patch{16,32}_clip_quickgelu_224", 768, 12, 12, "clip quick"},
      {"vit_base_patch16_plus_clip_240", 896, 12, 14, "clip"},
      {"vit_large_patch14_clip_{224,336}", 1024, 24, 16, "clip"},
      {"vit_large_patch14_clip_quickgelu_{224,336}", 1024, 24, 16, "clip quick"},
      {"vit_huge_patch14_clip_{224,336,378}", 1280, 32, 16, "clip"},
      {"vit_huge_patch14_clip_quickgelu_{224,378}", 1280, 32, 16, "clip quick"},
      {"vit_giant_patch14_clip_224", 1408, 40, 16, "clip mlp_ratio=4.363636363636363"},
      {"vit_gigantic_patch14_clip_{224,378}", 1664, 48, 16, "clip mlp_ratio=4.923076923076923"},
      {"vit_gigantic_patch14_clip_quickgelu_224", 1664, 48, 16,
       "clip quick mlp_ratio=4.923076923076923"},

      {"vit_small_patch14_dinov2", 384, 12, 6, "dinov2"},
      {"vit_base_patch14_dinov2", 768, 12, 12, "dinov2"},
      {"vit_large_patch14_dinov2", 1024, 24, 16, "dinov2"},
      {"vit_giant_patch14_dinov2", 1536, 40, 24, "dinov2 giant_mlp"},
      {"vit_small_patch14_reg4_dinov2", 384, 12, 6, "dinov2 reg_tokens=4 no_embed_class=true"},
      {"vit_base_patch14_reg4_dinov2", 768, 12, 12, "dinov2 reg_tokens=4 no_embed_class=true"},
      {"vit_large_patch14_reg4_dinov2", 1024, 24, 16, "dinov2 reg_tokens=4 no_embed_class=true"},
      {"vit_giant_patch14_reg4_dinov2", 1536, 40, 24,
       "dinov2 giant_mlp reg_tokens=4 no_embed_class=true"},

      {"vit_base_patch14_reg1_tipsv2", 768, 12, 12, "tipsv2"},
      {"vit_large_patch14_reg1_tipsv2", 1024, 24, 16, "tipsv2"},
      {"vit_so400m_patch14_reg1_tipsv2", 1152, 27, 16, "tipsv2 mlp_ratio=3.736111111111111"},
      {"vit_giant_patch14_reg1_tipsv2", 1536, 40, 24, "tipsv2 giant_mlp"},

      {"vit_base_patch16_radio_v3", 768, 12, 12, "radio reg_tokens=7 init_values=1e-5"},
      {"vit_large_patch16_radio_v3", 1024, 24, 16, "radio reg_tokens=7 init_values=1e-5"},
      {"vit_huge_patch16_radio_v3", 1280, 32, 16, "radio reg_tokens=7"},
      {"vit_giant_patch16_radio_v3", 1536, 40, 24, "radio reg_tokens=7"},
      {"vit_so400m_patch16_radio_v4", 1152, 27, 16,
       "radio reg_tokens=9 mlp_ratio=3.736111111111111"},
      {"vit_huge_patch16_radio_v4", 1280, 32, 16, "radio reg_tokens=9"},

      {"vit_base_patch16_siglip_{224,256,384,512}", 768, 12, 12, "siglip"},
      {"vit_base_patch32_siglip_256", 768, 12, 12, "siglip tanh"},
      {"vit_large_patch16_siglip_{256,384}", 1024, 24, 16, "siglip"},
      {"vit_large_patch16_siglip_512", 1024, 24, 16, "siglip tanh"},
      {"vit_so400m_patch14_siglip_{224,378}", 1152, 27, 16, "siglip mlp_ratio=3.7362"},
      {"vit_so400m_patch14_siglip_384", 1152, 27, 16,
       "siglip mlp_ratio=3.7362 crop_to_patches=true"},
      {"vit_so400m_patch16_siglip_{256,384,512}", 1152, 27, 16, "siglip tanh mlp_ratio=3.7362"},
      {"vit_giantopt_patch16_siglip_{256,384}", 1536, 40, 16, "siglip tanh"},
      {"vit_base_patch16_siglip_gap_{224,256,384,512}", 768, 12, 12, "no_cls mean"},
      {"vit_base_patch32_siglip_gap_256", 768, 12, 12, "no_cls mean tanh"},
      {"vit_large_patch16_siglip_gap_{256,384}", 1024, 24, 16, "no_cls mean"},
      {"vit_large_patch16_siglip_gap_512", 1024, 24, 16, "no_cls mean tanh"},
      {"vit_so400m_patch14_siglip_gap_{224,378,448,896}", 1152, 27, 16,
       "no_cls mean mlp_ratio=3.7362"},
      {"vit_so400m_patch14_siglip_gap_384", 1152, 27, 16,
       "no_cls mean mlp_ratio=3.7362 crop_to_patches=true"},
      {"vit_so400m_patch16_siglip_gap_{256,384,512}", 1152, 27, 16,
       "no_cls mean tanh mlp_ratio=3.7362"},
      {"vit_giantopt_patch16_siglip_gap_{256,384}", 1536, 40, 16, "no_cls mean tanh"},

      {"vit_base_patch16_gap_224", 768, 12, 16, "no_cls mean"},
      {"vit_betwixt_patch16_gap_256", 640, 12, 10, "no_cls mean qkv_bias=false init_values=1e-6"},
      {"vit_intern300m_patch14_448", 1024, 24, 16,
       "init_values=0.1 final_norm=false dynamic_img_size=true"},
      {"vit_medium_patch16_gap_{240,256,384}", 512, 12, 8,
       "no_cls mean qkv_bias=false init_values=1e-6"},
      {"vit_huge_patch{14_gap_224,16_gap_448}", 1280, 32, 16, "no_cls mean"},
      {"vit_giant_patch16_gap_224", 1408, 40, 16, "no_cls mean mlp_ratio=4.363636363636363"},

      {"vit_wee_patch16_reg1_gap_256", 256, 14, 4, "reg_gap reg_tokens=1 mlp_ratio=5"},
      {"vit_dwee_patch16_reg1_gap_256", 256, 14, 4,
       "reg_gap reg_tokens=1 mlp_ratio=5 attn_layer=diff"},
      {"vit_pwee_patch16_reg1_gap_256", 256, 16, 4,
       "reg_gap reg_tokens=1 mlp_ratio=5 block_fn=parallel_scaling"},
      {"vit_dpwee_patch16_reg1_gap_256", 256, 16, 4,
       "reg_gap reg_tokens=1 mlp_ratio=5 block_fn=diff_parallel_scaling"},
      {"vit_little_patch16_reg1_gap_256", 320, 14, 5, "reg_gap reg_tokens=1 mlp_ratio=5.6"},
      {"vit_little_patch16_reg4_gap_256", 320, 14, 5, "reg_gap reg_tokens=4 mlp_ratio=5.6"},
      {"vit_dlittle_patch16_reg1_gap_256", 320, 14, 5,
       "reg_gap reg_tokens=1 mlp_ratio=5.6 attn_layer=diff"},
      {"vit_medium_patch16_reg1_gap_256", 512, 12, 8, "reg_gap reg_tokens=1"},
      {"vit_medium_patch16_reg4_gap_256", 512, 12, 8, "reg_gap reg_tokens=4"},
      {"vit_mediumd_patch16_reg4_gap_{256,384}", 512, 20, 8, "reg_gap reg_tokens=4"},
      {"vit_betwixt_patch16_reg1_gap_256", 640, 12, 10, "reg_gap reg_tokens=1"},
      {"vit_betwixt_patch16_reg4_gap_{256,384}", 640, 12, 10, "reg_gap reg_tokens=4"},
      {"vit_base_patch16_reg4_gap_256", 768, 12, 12, "gap no_embed_class=true reg_tokens=4"},
      {"vit_so150m_patch16_reg4_map_256", 896, 18, 14, "siglip reg_tokens=4 mlp_ratio=2.572"},
      {"vit_so150m_patch16_reg4_gap_{256,384}", 896, 18, 14,
       "no_cls mean reg_tokens=4 mlp_ratio=2.572"},
      {"vit_so150m2_patch16_reg1_gap_{256,384,448}", 832, 21, 13,
       "gap reg_tokens=1 mlp_ratio=2.6153846153846154 init_values=1e-5 qkv_bias=false"},

      {"vit_giant_patch14_224", 1408, 40, 16, "mlp_ratio=4.363636363636363"},
      {"vit_gigantic_patch14_224", 1664, 48, 16, "mlp_ratio=4.923076923076923"},
      {"vit_base_patch{16_plus_240,32_plus_256}", 896, 12, 14, "init_values=1e-5"},
      {"vit_base_patch16_xp_224", 768, 12, 12, "xp"},
      {"vit_large_patch14_xp_224", 1024, 24, 16, "xp"},
      {"vit_huge_patch14_xp_224", 1280, 32, 16, "xp"},
      {"vit_small_patch16_36x1_224", 384, 36, 6, "init_values=1e-5"},
      {"vit_small_patch16_18x2_224", 384, 18, 6, "init_values=1e-5 block_fn=parallel_things"},
      {"vit_base_patch16_18x2_224", 768, 18, 12, "init_values=1e-5 block_fn=parallel_things"},
      {"vit_base_patch16_224_miil", 768, 12, 12, "qkv_bias=false"},
      {"vit_base_patch16_rpn_224", 768, 12, 12,
       "gap qkv_bias=false init_values=1e-5 block_fn=res_post"},
  };
  return all;
}

/// Adds settings, written as in a row.
void add_settings(json& config, const std::string& settings) {
  for (const std::string& word : split_words(settings)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      add_settings(config, groups().at(word));
    } else {
      config[word.substr(0, equals)] = parse_config_value(word.substr(equals + 1));
    }
  }
}

/// A name without the numbers of patch and image, which go into `config` instead.
std::string form_of(const std::string& name, json& config) {
  std::vector<std::string> parts = split_text(name, '_');
  for (std::string& part : parts) {
    const std::size_t digit = part.find_first_of("0123456789");
    const std::string word = part.substr(0, digit);
    if (digit == std::string::npos || (!word.empty() && word != "patch")) continue;
    const json number = parse_config_value(part.substr(digit));
    const bool is_image = number.is_array() && &part == &parts.back();
    if (!number.is_number_integer() && !is_image) continue;  // aimv2_1b, 18x2
    config[word.empty() ? "img_size" : "patch_size"] = number;
    part = word + "#";
  }
  return join(parts, "_");
}

/// Rows by whole names and, for other patches and images, by forms.
const std::map<std::string, const TimmRow*>& rows_by_name() {
  static const std::map<std::string, const TimmRow*> all = [] {
    std::map<std::string, const TimmRow*> table;
    json ignored;
    for (const TimmRow& row : timm_rows()) {
      for (const std::string& name : expand_braces(row.names)) {
        table.emplace(name, &row);
        table.emplace(form_of(name, ignored), &row);  // the first row of a form stays
      }
    }
    return table;
  }();
  return all;
}

}  // namespace

std::vector<std::string> timm_preset_names() {
  std::vector<std::string> names;
  for (const TimmRow& row : timm_rows()) {
    for (std::string& name : expand_braces(row.names)) names.push_back(std::move(name));
  }
  return names;
}

json timm_preset(const std::string& name) {
  json numbers = json::object();
  const std::string form = form_of(name, numbers);
  auto found = rows_by_name().find(name);
  if (found == rows_by_name().end()) found = rows_by_name().find(form);
  if (found == rows_by_name().end() || name.find('#') != std::string::npos) return {};
  const TimmRow& row = *found->second;
  json config{{"family", "vit"},
              {"embed_dim", row.embed_dim},
              {"depth", row.depth},
              {"num_heads", row.num_heads}};
  add_settings(config, row.settings);
  config.update(numbers);
  return config;
}

}  // namespace fovea
