// From a model's name to its settings. One row per family describes how its names are parsed, in
// timm's manner, and which names are common.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/names.h"
#include "engine/base/text.h"
#include "models/config_reader.h"
#include "models/registry.h"
#include "models/timm_presets.h"

namespace fovea {
namespace {

using nlohmann::json;

/// A word between size and patch ("distilled", "peg0to5").
struct Word {
  bool (*read)(const std::string& word, json& config);  ///< writes its settings; false: other word
  bool is_required = false;
};

constexpr std::int64_t kPatchIsSaid = 0, kNoPatch = -1;

/// Rule for parsing a family's names: FAMILY_SIZE[_WORD ...][_patchP]_IMAGE.
struct NameRow {
  std::string family;
  std::string start{};                  ///< what names begin with instead of the family
  json settings = json::object();       ///< settings of all sizes
  std::map<std::string, json> sizes{};  ///< settings of each size; empty: the name is FAMILY alone
  std::vector<Word> words{};            ///< words in the order in which they appear
  std::int64_t patch = kPatchIsSaid;    ///< default; kPatchIsSaid: the name contains it
  /// The form is FAMILY_SIZE[_IMAGE], where SIZE may have several words.
  bool is_size_whole = false;
  bool is_patch_first = false;  ///< the form is FAMILY_SIZE_P[_IMAGE]; without image: a latent
  void (*complete)(json& config) = nullptr;  ///< sets values that depend on others
  std::int64_t image = 0;  ///< size for names without IMAGE; 0: the name contains it
  /// For families with names FAMILY_ENCODER, instead of size, words and patch: the encoder's
  /// families.
  std::vector<std::string> encoders{};
  std::vector<std::string> customary{};  ///< common names without FAMILY_; {a,b} expands to a and b
  std::vector<std::string> further{};    ///< others of timm's
};

json width_depth_heads(std::int64_t embed_dim, std::int64_t depth, std::int64_t heads) {
  return {{"embed_dim", embed_dim}, {"depth", depth}, {"num_heads", heads}};
}

std::map<std::string, json> vit_sizes() {
  return {{"tiny", width_depth_heads(192, 12, 3)},
          {"small", width_depth_heads(384, 12, 6)},
          {"base", width_depth_heads(768, 12, 12)},
          {"large", width_depth_heads(1024, 24, 16)},
          {"huge", width_depth_heads(1280, 32, 16)}};
}

/// The Pixel Transformer has other numbers of heads (PiT tab. 2).
std::map<std::string, json> pit_sizes() {
  std::map<std::string, json> sizes = vit_sizes();
  for (const char* size : {"tiny", "small", "base"}) sizes[size]["num_heads"] = 12;
  return sizes;
}

std::map<std::string, json> pervit_sizes() {
  const auto size = [](std::int64_t heads, const json& emb_dims, const json& stem) -> json {
    return {{"num_heads", heads}, {"emb_dims", emb_dims}, {"convstem_dims", stem}};
  };
  return {{"tiny", size(4, {128, 192, 224, 280}, {3, 48, 64, 96, 128})},
          {"small", size(8, {272, 320, 368, 464}, {3, 64, 128, 192, 272})},
          {"medium", size(12, {312, 468, 540, 684}, {3, 64, 192, 256, 312})}};
}

/// DiT tab. 1.
std::map<std::string, json> dit_sizes() {
  return {{"s", width_depth_heads(384, 12, 6)},
          {"b", width_depth_heads(768, 12, 12)},
          {"l", width_depth_heads(1024, 24, 16)},
          {"xl", width_depth_heads(1152, 28, 16)}};
}

/// f is the factor by which a side shrinks; these are the KL autoencoders of latent diffusion.
std::map<std::string, json> vae_sizes() {
  return {{"f4", {{"block_out_channels", {128, 256, 512}}, {"latent_channels", 3}}},
          {"f8", {{"block_out_channels", {128, 256, 512, 512}}, {"latent_channels", 4}}}};
}

/// The settings of detectors for drawn scenes of about 64 x 64 pixels: maps of a cell per 8 pixels.
/// Nothing is frozen, since their backbones start from nothing.
json tiny_detector() {
  return {{"img_size", 64},
          {"num_classes", 10},
          {"num_queries", 20},
          {"d_model", 64},
          {"nheads", 4},
          {"enc_layers", 2},
          {"dec_layers", 2},
          {"dim_feedforward", 128},
          {"dropout", 0},
          {"stem", 16},
          {"planes", {16, 32}},
          {"blocks", {1, 1}},
          {"backbone_norm", "batch"},
          {"train_stem", true}};
}

/// DETR's sizes for COCO, whose 80 classes have ids up to 90.
std::map<std::string, json> detector_sizes() {
  return {{"resnet50", {{"img_size", {800, 1333}}}},
          {"resnet50_dc5", {{"img_size", {800, 1333}}, {"dilation", true}}},
          {"tiny_scenes", tiny_detector()}};
}

/// The small Deformable DETR has few channels in a group, so padding would change much.
std::map<std::string, json> deformable_detector_sizes() {
  auto sizes = detector_sizes();
  sizes["tiny_scenes"]["norm_free_cells"] = true;
  return sizes;
}

/// 16 pixels per token and side, or 4 for images of at most 64 pixels. The stem for small images is
/// our own: half the first width, then the first.
void shorten_stem(json& config) {
  const json& image = config["img_size"];
  const std::int64_t width = config["emb_dims"][0];
  if (image.is_number() && image.get<std::int64_t>() <= 64) {
    config["convstem_dims"] = {3, width / 2, width};
  }
}

bool read_distilled(const std::string& word, json& config) {
  config["distilled"] = word == "distilled";
  return word == "distilled";
}

/// pegI: a PEG after block I; pegItoJ: after blocks I to J - 1.
bool read_pegs(const std::string& word, json& config) {
  if (!word.starts_with("peg")) return false;
  const std::size_t to = word.find("to");
  const auto number = [](const std::string& digits) {
    const std::int64_t block = parse_integer(digits).value_or(-1);
    return block < 1000 ? block : -1;
  };
  const std::int64_t first = number(word.substr(3, to == std::string::npos ? to : to - 3));
  const std::int64_t end = to == std::string::npos ? first + 1 : number(word.substr(to + 2));
  for (std::int64_t i = first; i < end; ++i) config["peg_positions"].push_back(i);
  return first >= 0 && end > first;
}

/// No class token: global average pooling.
bool read_gap(const std::string& word, json& config) {
  if (word != "gap") return false;
  config.update({{"class_token", false}, {"global_pool", "avg"}});
  return true;
}

const std::vector<NameRow>& rows() {
  static const std::vector<NameRow> all{
      {.family = "vit",
       .sizes = vit_sizes(),
       .customary = {"{tiny,small,base,large}_patch{16_224,16_384,4_32,2_32}", "huge_patch14_224"},
       .further = {"{small,base}_patch8_224", "{small,base,large}_patch{32_224,32_384}",
                   "large_patch14_224"}},
      {.family = "pit",
       .settings = {{"global_pool", "avg"}},
       .sizes = pit_sizes(),
       .patch = 1,
       .customary = {"{tiny,small,base,large}_{32,28}"}},
      {.family = "deit",
       .settings = {{"distilled", false}},
       .sizes = vit_sizes(),
       .words = {{read_distilled}},
       .customary = {"{tiny,small,base}{,_distilled}_patch{16_224,16_384,4_32}"}},
      {.family = "cpvt",
       .sizes = vit_sizes(),
       .words = {{read_pegs, /*is_required=*/true}, {read_gap}},
       .patch = 16,
       .customary = {"{tiny,small,base}_{peg0,peg0to5}{,_gap}_{224,patch4_32}"}},
      {.family = "pervit",
       .settings = {{"depths", {2, 2, 6, 2}}},
       .sizes = pervit_sizes(),
       .patch = kNoPatch,
       .complete = shorten_stem,
       .customary = {"{tiny,small,medium}_{224,32}"}},
      {.family = "mae",
       .encoders = {"vit", "pit"},
       .customary = {"vit_{base_patch16,large_patch16,huge_patch14,tiny_patch4_32}",
                     "pit_{tiny,small}{,_patch2}_32"}},
      {.family = "dit",
       .sizes = dit_sizes(),
       .is_patch_first = true,
       .customary = {"{s,b,l,xl}_2", "l_1", "{s,b}_{2,4}_32"},
       .further = {"{s,b,xl}_1", "{s,b,l,xl}_{4,8}"}},
      {.family = "vae",
       .sizes = vae_sizes(),
       .patch = kNoPatch,
       .image = 256,
       .customary = {"f4", "f8"}},
      {.family = "depth",
       .encoders = {"vit", "pit", "cpvt"},
       .customary = {"pit_small_48x64", "cpvt_tiny_peg0_patch4_24x32"}},
      {.family = "detr",
       .sizes = detector_sizes(),
       .is_size_whole = true,
       .customary = {"{resnet50,tiny_scenes}"}},
      {.family = "ddetr",
       .start = "deformable_detr",
       .sizes = deformable_detector_sizes(),
       .is_size_whole = true,
       .customary = {"{resnet50,tiny_scenes}"}},
      {.family = "linear", .customary = {""}}};
  return all;
}

/// What the names of a family begin with.
const std::string& start_of(const NameRow& row) {
  return row.start.empty() ? row.family : row.start;
}

/// True for the image size at the end of a name.
bool is_image(const std::string& part) {
  return part.find_first_not_of("0123456789x") == std::string::npos;
}

/// The P of "patchP", else 0.
std::int64_t read_patch(const std::string& part) {
  if (!part.starts_with("patch")) return 0;
  const std::int64_t patch = parse_integer(part.substr(5)).value_or(0);
  return patch < 100'000 ? std::max<std::int64_t>(patch, 0) : 0;
}

/// Parses SIZE[_WORD ...][_patchP]_IMAGE; null if the name does not have this form.
json read_sized(const NameRow& row, std::vector<std::string> parts) {
  if (row.image > 0 && parts.size() == 1) parts.push_back(std::to_string(row.image));
  if (parts.size() < 2 || !is_image(parts.back())) return {};
  const auto size = row.sizes.find(parts.front());
  if (size == row.sizes.end()) return {};
  json config = row.settings;
  config.update(size->second);
  config["img_size"] = parse_config_value(parts.back());
  parts.pop_back();
  std::int64_t patch = row.patch;
  if (const std::int64_t said = read_patch(parts.back()); said > 0 && patch != kNoPatch) {
    patch = said;
    parts.pop_back();
  }
  if (patch == kPatchIsSaid) return {};
  if (patch != kNoPatch) config["patch_size"] = patch;
  auto part = parts.begin() + 1;
  for (const Word& word : row.words) {
    if (part != parts.end() && word.read(*part, config)) {
      ++part;
    } else if (word.is_required) {
      return {};
    }
  }
  if (part != parts.end()) return {};
  if (row.complete != nullptr) row.complete(config);
  return config;
}

/// Parses SIZE_P[_IMAGE]; null if the name does not have this form. Without image size the model
/// works on the latents of a 256x256 image: 32x32 with 4 channels.
json read_patch_first(const NameRow& row, const std::vector<std::string>& parts) {
  if (parts.size() != 2 && parts.size() != 3) return {};
  const auto size = row.sizes.find(parts[0]);
  const std::int64_t patch = read_patch("patch" + parts[1]);
  if (size == row.sizes.end() || patch == 0) return {};
  const bool is_latent = parts.size() == 2;
  if (!is_latent && !is_image(parts[2])) return {};
  json config = size->second;
  config["img_size"] = is_latent ? json(32) : parse_config_value(parts[2]);
  config["patch_size"] = patch;
  config["in_chans"] = is_latent ? 4 : 3;
  return config;
}

/// Parses SIZE[_IMAGE]; null if the name does not have this form.
json read_whole(const NameRow& row, std::string rest) {
  json image;
  const std::size_t last = rest.find_last_of('_');
  if (last != std::string::npos && is_image(rest.substr(last + 1))) {
    image = parse_config_value(rest.substr(last + 1));
    rest.resize(last);
  }
  const auto size = row.sizes.find(rest);
  if (size == row.sizes.end()) return {};
  json config = size->second;
  if (!image.is_null()) config["img_size"] = image;
  return config;
}

json read_preset(const std::string& name);

/// Parses ENCODER. Official names omit the image size if it is 224.
json read_encoder(const NameRow& row, const std::string& encoder) {
  const bool has_image = is_image(encoder.substr(encoder.find_last_of('_') + 1));
  json config = read_preset(has_image ? encoder : encoder + "_224");
  if (config.is_null()) return {};
  const std::string family = config["family"];
  check(std::find(row.encoders.begin(), row.encoders.end(), family) != row.encoders.end(),
        "model: ", row.family, "_", encoder, ": the encoder is a ", join(row.encoders, " or "));
  config.erase("global_pool");  // an encoder does not pool
  if (family == "cpvt") config["pos_embed"] = "none";
  return config;
}

/// Parses a whole name; null if it belongs to no family.
json read_preset(const std::string& name) {
  const auto row = std::find_if(rows().begin(), rows().end(), [&](const NameRow& each) {
    return (name + "_").starts_with(start_of(each) + "_");
  });
  if (row == rows().end()) return {};
  const std::size_t end = start_of(*row).size();
  const std::string rest = name.substr(std::min(end + 1, name.size()));
  json config = row->settings;
  if (!row->encoders.empty()) {
    config = read_encoder(*row, rest);
  } else if (row->is_size_whole) {
    config = read_whole(*row, rest);
  } else if (row->is_patch_first) {
    config = read_patch_first(*row, split_text(rest, '_'));
  } else if (!row->sizes.empty()) {
    config = read_sized(*row, split_text(rest, '_'));
  } else if (end < name.size()) {
    return {};
  }
  if (!config.is_null()) config["family"] = row->family;
  return config;
}

/// Parses a whole name of ours or of timm's; null if it is neither.
json find_preset(const std::string& name) {
  json config = read_preset(name);
  return config.is_null() ? timm_preset(name) : config;
}

void add_names(std::vector<std::string>& names, const std::string& family,
               const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    for (const std::string& rest : expand_braces(pattern)) {
      names.push_back(rest.empty() ? family : family + "_" + rest);
    }
  }
}

/// Removes the parts of timm's weight names, current (NAME.TAG) and older, that are not part of the
/// model's name.
std::string without_weights(std::string name) {
  if (name.starts_with("vit_deit_")) name.erase(0, 4);
  name.resize(std::min(name.find('.'), name.size()));
  for (const std::string_view end : {"_in21k", "_in21ft1k", "_sam", "_dino"}) {
    if (name.ends_with(end)) name.resize(name.size() - end.size());
  }
  return name;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const NameRow& row : rows()) add_names(names, start_of(row), row.customary);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> all_model_names() {
  std::vector<std::string> names = timm_preset_names();
  for (const NameRow& row : rows()) {
    add_names(names, start_of(row), row.customary);
    add_names(names, start_of(row), row.further);
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
