// From a model's name to its settings: the table of names, and how a name is looked up in it.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/names.h"
#include "engine/base/text.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "models/timm_former_names.h"
#include "models/timm_presets.h"

namespace fovea {
namespace {

using nlohmann::json;

/// The common names.
const std::vector<PresetRow>& common_rows() {
  static const std::vector<PresetRow> all{
      {"vit", "vit_{tiny,small,base,large}_patch{16_224,16_384,4_32,2_32} vit_huge_patch14_224",
       "*"},
      // PiT tab. 2 has other numbers of heads than ViT.
      {"pit", "pit_{tiny,small,base}_{32,28}", "* num_heads=12 patch_size=1 global_pool=avg",
       "pit_{tiny,small,base}_patch#_#"},
      {"pit", "pit_large_{32,28}", "* patch_size=1 global_pool=avg",
       "pit_large_patch#_# pit_huge_{#,patch#_#}"},
      {"deit", "deit_{tiny,small,base}_patch{16_224,16_384,4_32}", "* distilled=false",
       "deit_{large,huge}_patch#_#"},
      {"deit", "deit_{tiny,small,base}_distilled_patch{16_224,16_384,4_32}", "* distilled=true",
       "deit_{large,huge}_distilled_patch#_#"},
      {"cpvt", "cpvt_{tiny,small,base}_peg{0,0to5}_{224,patch4_32}", "* patch_size=16",
       "cpvt_{large,huge}_peg#_{#,patch#_#}"},
      {"cpvt", "cpvt_{tiny,small,base}_peg{0,0to5}_gap_{224,patch4_32}", "* patch_size=16 gap",
       "cpvt_{large,huge}_peg#_gap_{#,patch#_#}"},
      {"pervit", "pervit_{tiny,small,medium}_{224,32}", "pervit_* depths=[2,2,6,2]"},
      // Without image, latents of 256x256 images.
      {"dit", "dit_{s,b,l,xl}_2 dit_l_1", "dit_* img_size=32 in_chans=4"},
      {"dit", "dit_{s,b}_{2,4}_32", "dit_* in_chans=3", "dit_{l,xl}_#_#"},
      // The KL autoencoders of latent diffusion; f is the factor by which a side shrinks.
      {"vae", "vae_f4", "img_size=256 block_out_channels=[128,256,512] latent_channels=3",
       "vae_f4_#"},
      {"vae", "vae_f8", "img_size=256 block_out_channels=[128,256,512,512] latent_channels=4",
       "vae_f8_#"},
      // DETR's sizes for COCO, whose 80 classes have ids up to 90.
      {"detr", "detr_resnet50", "img_size=800x1333", "detr_resnet50_#"},
      {"detr", "", "img_size=800x1333 dilation=true", "detr_resnet50_dc5{,_#}"},
      {"detr", "detr_tiny_scenes", "tiny_scenes", "detr_tiny_scenes_#"},
      {"ddetr", "deformable_detr_resnet50", "img_size=800x1333", "deformable_detr_resnet50_#"},
      {"ddetr", "", "img_size=800x1333 dilation=true", "deformable_detr_resnet50_dc5{,_#}"},
      // Its group norm has only two channels per group, so padding would shift their statistics.
      {"ddetr", "deformable_detr_tiny_scenes", "tiny_scenes norm_free_cells=true",
       "deformable_detr_tiny_scenes_#"},
      {"linear", "linear", ""}};
  return all;
}

/// Words for settings that occur together.
const std::map<std::string, const char*>& groups() {
  static const std::map<std::string, const char*> all = [] {
    std::map<std::string, const char*> groups{
        {"tiny", "192x12x3"},
        {"small", "384x12x6"},
        {"base", "768x12x12"},
        {"large", "1024x24x16"},
        {"huge", "1280x32x16"},
        {"pervit_tiny", "num_heads=4 emb_dims=[128,192,224,280] convstem_dims=[3,48,64,96,128]"},
        {"pervit_small", "num_heads=8 emb_dims=[272,320,368,464] convstem_dims=[3,64,128,192,272]"},
        {"pervit_medium",
         "num_heads=12 emb_dims=[312,468,540,684] convstem_dims=[3,64,192,256,312]"},
        // DiT tab. 1.
        {"dit_s", "384x12x6"},
        {"dit_b", "768x12x12"},
        {"dit_l", "1024x24x16"},
        {"dit_xl", "1152x28x16"},
        // Drawn scenes of about 64 x 64 pixels: maps of a cell per 8 pixels. Nothing is frozen,
        // since the backbone is trained from scratch.
        {"tiny_scenes",
         "img_size=64 num_classes=10 num_queries=20 d_model=64 nheads=4 enc_layers=2 dec_layers=2 "
         "dim_feedforward=128 dropout=0 stem=16 planes=[16,32] blocks=[1,1] backbone_norm=batch "
         "train_stem=true"}};
    groups.insert(timm_groups().begin(), timm_groups().end());
    groups.insert(eva_groups().begin(), eva_groups().end());
    return groups;
  }();
  return all;
}

/// Names of the form FAMILY_ENCODER.
struct EncoderNames {
  const char* family;
  std::vector<std::string> encoders;  ///< families
  const char* names;                  ///< the common ones
};

const std::vector<EncoderNames>& encoder_names() {
  static const std::vector<EncoderNames> all{
      {"mae",
       {"vit", "pit"},
       "mae_vit_{base_patch16,large_patch16,huge_patch14,tiny_patch4_32} "
       "mae_pit_{tiny,small}{,_patch2}_32"},
      {"depth", {"vit", "pit", "cpvt"}, "depth_pit_small_48x64 depth_cpvt_tiny_peg0_patch4_24x32"}};
  return all;
}

/// Adds settings, written as in a row.
void add_settings(json& config, const std::string& settings, const std::string& second_word) {
  for (std::string word : split_words(settings)) {
    const std::size_t star = word.find('*'), equals = word.find('=');
    const std::vector<std::string> sides = split_text(word, 'x');
    if (star != std::string::npos) word.replace(star, 1, second_word);
    if (equals != std::string::npos) {
      config[word.substr(0, equals)] = parse_config_value(word.substr(equals + 1));
    } else if (sides.size() == 3) {
      config["embed_dim"] = *parse_integer(sides[0]);
      config["depth"] = *parse_integer(sides[1]);
      config["num_heads"] = *parse_integer(sides[2]);
    } else {
      add_settings(config, groups().at(word), second_word);
    }
  }
}

/// I: a PEG after block I; ItoJ: after blocks I to J - 1.
bool read_pegs(const std::string& blocks, json& config) {
  constexpr std::int64_t kMaxBlock = 1000;
  const std::size_t to = blocks.find("to");
  const auto first = parse_integer(blocks.substr(0, to));
  const auto end = to == std::string::npos ? first : parse_integer(blocks.substr(to + 2));
  if (!first || !end || *end >= kMaxBlock) return false;
  const std::int64_t last = to == std::string::npos ? *first : *end - 1;
  for (std::int64_t i = *first; i <= last; ++i) config["peg_positions"].push_back(i);
  return *first <= last;
}

/// Reads patchP, pegI, pegItoJ and images, which are N or, at the end of a name, HxW. False for
/// other words.
bool read_number(const std::string& word, const std::string& number, bool is_last, json& config) {
  if (word == "peg") return read_pegs(number, config);
  const json value = parse_config_value(number);
  const bool is_size = value.is_number_integer() || (is_last && value.is_array());
  if (word == "patch" && parse_integer(number).value_or(0) > 0) {
    config["patch_size"] = *parse_integer(number);
  } else if (word.empty() && is_size) {
    config["img_size"] = value;
  } else {
    return false;
  }
  return true;
}

/// A name with `#` for its numbers, which go into `config`.
std::string form_of(const std::string& name, json& config) {
  std::vector<std::string> parts = split_text(name, '_');
  // Official DiT names have a number alone for the patch.
  if (parts.size() > 2 && parts[0] == "dit") parts[2].insert(0, "patch");
  for (std::string& part : parts) {
    const std::size_t digit = part.find_first_of("0123456789");
    if (digit == std::string::npos) continue;
    const std::string word = part.substr(0, digit);
    const bool is_last = &part == &parts.back();
    if (read_number(word, part.substr(digit), is_last, config)) part = word + "#";
  }
  return join(parts, "_");
}

void add_names(std::vector<std::string>& names, const char* patterns) {
  for (const std::string& pattern : split_words(patterns)) {
    for (std::string& name : expand_braces(pattern)) names.push_back(std::move(name));
  }
}

/// Rows by whole names and by forms.
using Table = std::map<std::string, const PresetRow*>;

Table table_of(const std::vector<PresetRow>& rows) {
  Table table;
  json ignored;
  for (const PresetRow& row : rows) {
    std::vector<std::string> names;
    for (const char* patterns : {row.names, row.unlisted}) add_names(names, patterns);
    for (const std::string& name : names) {
      table.emplace(name, &row);
      table.emplace(form_of(name, ignored), &row);  // the first row of a form stays
    }
  }
  return table;
}

/// The settings of a name; null if it is not in the table.
json look_up(const Table& table, const std::string& name) {
  json numbers = json::object();
  const std::string form = form_of(name, numbers);
  auto found = table.find(name);
  if (found == table.end()) found = table.find(form);
  if (found == table.end() || name.find('#') != std::string::npos) return {};
  const std::vector<std::string> parts = split_text(name, '_');
  json config{{"family", found->second->family}};
  add_settings(config, found->second->settings, parts.size() > 1 ? parts[1] : "");
  config.update(numbers);
  return config;
}

/// Shortens the stem of a PerViT for images of at most 64 pixels: 4 pixels per token and side
/// instead of 16. This stem is our own: half the first width, then the first.
void shorten_stem(json& config) {
  const json& image = config["img_size"];
  const std::int64_t width = config["emb_dims"][0];
  if (image.is_number() && image.get<std::int64_t>() <= 64) {
    config["convstem_dims"] = {3, width / 2, width};
  }
}

json find_common(const std::string& name);

/// The settings of a model with this encoder. Official names omit the image size if it is 224.
json with_encoder(const EncoderNames& row, const std::string& encoder) {
  const std::string last = encoder.substr(encoder.find_last_of('_') + 1);
  const bool has_image = last.find_first_not_of("0123456789x") == std::string::npos;
  json config = find_common(has_image ? encoder : encoder + "_224");
  if (config.is_null()) return {};
  const std::string family = config["family"];
  check(std::find(row.encoders.begin(), row.encoders.end(), family) != row.encoders.end(),
        "model: ", row.family, "_", encoder, ": the encoder is a ", join(row.encoders, " or "));
  config.erase("global_pool");  // an encoder does not pool
  if (family == "cpvt") config["pos_embed"] = "none";
  config["family"] = row.family;
  return config;
}

/// The settings of a name like the common ones; null for others.
json find_common(const std::string& name) {
  static const Table table = table_of(common_rows());
  for (const EncoderNames& row : encoder_names()) {
    const std::string start = std::string(row.family) + "_";
    if (name.starts_with(start)) return with_encoder(row, name.substr(start.size()));
  }
  json config = look_up(table, name);
  if (config.is_object() && config["family"] == "pervit") shorten_stem(config);
  return config;
}

/// The settings of any name; null if it is unknown.
json find_preset(const std::string& given) {
  const std::string current = current_timm_name(given), name = current.empty() ? given : current;
  static const Table timm = table_of(timm_rows()), eva = table_of(eva_rows());
  json config = find_common(name);
  for (const Table* const table : {&timm, &eva}) {
    if (config.is_null()) config = look_up(*table, name);
  }
  return config;
}

/// Removes the parts of timm's names of weights (NAME.TAG) that are not part of the model's name.
std::string without_weights(std::string name) {
  if (name.starts_with("vit_deit_")) name.erase(0, 4);
  name.resize(std::min(name.find('.'), name.size()));
  return name;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const PresetRow& row : common_rows()) add_names(names, row.names);
  for (const EncoderNames& row : encoder_names()) add_names(names, row.names);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> all_model_names() {
  std::vector<std::string> names = model_names();
  for (const auto* const rows : {&timm_rows(), &eva_rows()}) {
    for (const PresetRow& row : *rows) add_names(names, row.names);
  }
  std::sort(names.begin(), names.end());
  return names;
}

json preset(std::string_view name) {
  json config = find_preset(std::string(name));
  const std::string model = without_weights(std::string(name));
  check(!config.is_null() || model == name || find_preset(model).is_null(), "model: ", name,
        " is timm's name for weights; the model is ", model,
        ", and --initial-checkpoint loads weights");
  if (config.is_null()) {
    fail("model: ", name, " is unknown", did_you_mean(name, all_model_names()),
         "; --list-models all lists all");
  }
  return config;
}

}  // namespace fovea
