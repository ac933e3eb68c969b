// From a model's name to its settings: family, size, patch and image size in timm's manner.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/names.h"
#include "base/text.h"
#include "models/config_reader.h"
#include "models/registry.h"

namespace fovea {
namespace {

using nlohmann::json;

struct Size {
  std::string_view name;
  std::int64_t embed_dim, depth, heads, pit_heads;
};
// The sizes of ViT and DeiT; the Pixel Transformer has other heads (PiT tab. 2).
constexpr Size kSizes[] = {
    {"tiny", 192, 12, 3, 12},    {"small", 384, 12, 6, 12},  {"base", 768, 12, 12, 12},
    {"large", 1024, 24, 16, 16}, {"huge", 1280, 32, 16, 16},
};

// The stem for 32-pixel images is ours: half the first width, then the first.
struct PerViTSize {
  std::string_view name;
  std::int64_t heads;
  std::array<std::int64_t, 4> emb_dims;
  std::array<std::int64_t, 5> stem;
};
constexpr PerViTSize kPerViTSizes[] = {
    {"tiny", 4, {128, 192, 224, 280}, {3, 48, 64, 96, 128}},
    {"small", 8, {272, 320, 368, 464}, {3, 64, 128, 192, 272}},
    {"medium", 12, {312, 468, 540, 684}, {3, 64, 192, 256, 312}},
};

/// family_size[_distilled][_pegI[toJ]][_gap][_patchP]_IMAGE.
struct ParsedName {
  std::string family, size, image;
  std::vector<std::int64_t> pegs;  ///< CPVT: I, I + 1, ... J - 1
  bool gap = false;                ///< CPVT without class token
  std::int64_t patch = 0;          ///< 0: not said
  bool distilled = false;
};

std::int64_t parse_patch(const std::string& part) {
  const std::int64_t patch = parse_integer(part.substr(5)).value_or(0);
  return patch > 0 && patch < 100'000 ? patch : 0;
}

/// pegI: a PEG after block I; pegItoJ: after blocks I to J - 1.
bool parse_pegs(const std::string& part, std::vector<std::int64_t>& pegs) {
  const std::size_t to = part.find("to");
  const auto number = [](const std::string& digits) {
    const std::int64_t block = parse_integer(digits).value_or(-1);
    return block < 1000 ? block : -1;
  };
  const std::int64_t first = number(part.substr(3, to == std::string::npos ? to : to - 3));
  const std::int64_t end = to == std::string::npos ? first + 1 : number(part.substr(to + 2));
  for (std::int64_t i = first; i < end; ++i) pegs.push_back(i);
  return first >= 0 && end > first;
}

/// False when the name is not of the form.
bool parse_name(std::string_view name, ParsedName& parsed) {
  std::vector<std::string> parts = split_text(name, '_');
  if (parts.size() < 3) return false;
  parsed.family = parts.front();
  parsed.size = parts[1];
  parsed.image = parts.back();
  for (std::size_t i = 2; i + 1 < parts.size(); ++i) {
    if (parts[i] == "distilled" && parsed.family == "deit" && i == 2) {
      parsed.distilled = true;
    } else if (parts[i].starts_with("peg") && parsed.family == "cpvt" && i == 2) {
      if (!parse_pegs(parts[i], parsed.pegs)) return false;
    } else if (parts[i] == "gap" && parsed.family == "cpvt" && i == 3) {
      parsed.gap = true;
    } else if (parts[i].starts_with("patch") && i + 2 == parts.size()) {
      parsed.patch = parse_patch(parts[i]);
      if (parsed.patch == 0) return false;
    } else {
      return false;
    }
  }
  if (parsed.family == "cpvt" && parsed.patch == 0) parsed.patch = 16;
  if (parsed.family == "cpvt" && parsed.pegs.empty()) return false;
  return parsed.image.find_first_not_of("0123456789x") == std::string::npos &&
         (parsed.patch > 0 || parsed.family == "pit" || parsed.family == "pervit");
}

json transformer_preset(const ParsedName& name, const Size& size) {
  const bool pit = name.family == "pit";
  json config{{"family", name.family},
              {"img_size", parse_config_value(name.image)},
              {"patch_size", name.patch > 0 ? name.patch : 1},
              {"embed_dim", size.embed_dim},
              {"depth", size.depth},
              {"num_heads", pit ? size.pit_heads : size.heads}};
  if (pit) config["global_pool"] = "avg";
  if (name.family == "deit") config["distilled"] = name.distilled;
  if (name.family == "cpvt") config["peg_positions"] = name.pegs;
  if (name.gap) config.update({{"class_token", false}, {"global_pool", "avg"}});
  return config;
}

/// 16 pixels per token and side, or 4 for images of 64 pixels or fewer.
json pervit_preset(const ParsedName& name, const PerViTSize& size) {
  const json image = parse_config_value(name.image);
  const std::int64_t width = size.emb_dims[0];
  const bool small = image.is_number() && image.get<std::int64_t>() <= 64;
  return {{"family", name.family},
          {"img_size", image},
          {"convstem_dims", small ? json{3, width / 2, width} : json(size.stem)},
          {"emb_dims", size.emb_dims},
          {"depths", {2, 2, 6, 2}},
          {"num_heads", size.heads}};
}

/// Null where the name is of none.
json classifier_preset(std::string_view name) {
  ParsedName parsed;
  if (!parse_name(name, parsed)) return {};
  const auto* const size = std::find_if(std::begin(kSizes), std::end(kSizes),
                                        [&](const Size& s) { return s.name == parsed.size; });
  const bool known = parsed.family == "vit" || parsed.family == "deit" || parsed.family == "pit" ||
                     parsed.family == "cpvt";
  if (known && size != std::end(kSizes)) return transformer_preset(parsed, *size);
  const auto* const pervit =
      std::find_if(std::begin(kPerViTSizes), std::end(kPerViTSizes),
                   [&](const PerViTSize& s) { return s.name == parsed.size; });
  if (parsed.family == "pervit" && parsed.patch == 0 && pervit != std::end(kPerViTSizes)) {
    return pervit_preset(parsed, *pervit);
  }
  return {};
}

/// The official names say no image size where it is 224.
json mae_preset(const std::string& encoder) {
  const std::size_t digits = encoder.find_last_of('_') + 1;
  const bool has_image = encoder.find_first_not_of("0123456789x", digits) == std::string::npos;
  json config = classifier_preset(has_image ? encoder : encoder + "_224");
  if (config.is_null()) return {};
  const std::string family = config["family"];
  check(family == "vit" || family == "pit", "model: mae_", encoder,
        ": the encoder is a vit or pit");
  if (family == "pit") config.erase("global_pool");
  config["family"] = "mae";
  return config;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names{"linear"};
  names.push_back("vit_huge_patch14_224");
  for (const Size& size : kSizes) {
    const std::string s(size.name);
    if (s == "huge") continue;
    for (const char* shape : {"_patch16_224", "_patch16_384", "_patch4_32", "_patch2_32"}) {
      names.push_back("vit_" + s + shape);
    }
    names.push_back("pit_" + s + "_32");
    names.push_back("pit_" + s + "_28");
    if (s == "large") continue;
    for (const char* shape : {"_patch16_224", "_patch16_384", "_patch4_32"}) {
      names.push_back("deit_" + s + shape);
      names.push_back("deit_" + s + "_distilled" + shape);
    }
    for (const char* pegs : {"_peg0", "_peg0_gap", "_peg0to5", "_peg0to5_gap"}) {
      names.push_back("cpvt_" + s + pegs + "_224");
      names.push_back("cpvt_" + s + pegs + "_patch4_32");
    }
  }
  for (const PerViTSize& size : kPerViTSizes) {
    for (const char* image : {"_224", "_32"}) {
      names.push_back("pervit_" + std::string(size.name) + image);
    }
  }
  for (const char* encoder :
       {"vit_base_patch16", "vit_large_patch16", "vit_huge_patch14", "vit_tiny_patch4_32",
        "pit_tiny_32", "pit_tiny_patch2_32", "pit_small_32", "pit_small_patch2_32"}) {
    names.push_back(std::string("mae_") + encoder);
  }
  std::sort(names.begin(), names.end());
  return names;
}

json preset(std::string_view name) {
  if (name == "linear") return {{"family", "linear"}};
  json config =
      name.starts_with("mae_") ? mae_preset(std::string(name.substr(4))) : classifier_preset(name);
  check(!config.is_null(), "model: ", name, " is not known", did_you_mean(name, model_names()),
        "; --list-models lists all");
  return config;
}

}  // namespace fovea
