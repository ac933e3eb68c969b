// From a name to a configuration, and from a configuration to a model.
#include "models/registry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/files.h"
#include "models/config_reader.h"
#include "models/deit.h"
#include "models/linear_model.h"
#include "models/vit.h"

namespace fovea {
namespace {

using nlohmann::json;

struct Size {
  std::string_view name;
  std::int64_t embed_dim, depth, heads, pit_heads;
};
// SPEC 2.1 and, for the heads of the Pixel Transformer, 5.1.
constexpr Size kSizes[] = {
    {"tiny", 192, 12, 3, 12},
    {"small", 384, 12, 6, 12},
    {"base", 768, 12, 12, 12},
    {"large", 1024, 24, 16, 16},
};

/// family_size[_distilled][_patchP]_IMAGE.
struct ParsedName {
  std::string family, size, image;
  std::int64_t patch = 0;  ///< 0: not said
  bool distilled = false;
};

std::vector<std::string> split_name(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '_') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::int64_t parse_patch(const std::string& part) {
  const std::string digits = part.substr(5);
  const bool number = !digits.empty() && digits.size() <= 5 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::stoll(digits) : 0;
}

/// False when the name is not of the form.
bool parse_name(std::string_view name, ParsedName& parsed) {
  std::vector<std::string> parts = split_name(name);
  if (parts.size() < 3) return false;
  parsed.family = parts.front();
  parsed.size = parts[1];
  parsed.image = parts.back();
  for (std::size_t i = 2; i + 1 < parts.size(); ++i) {
    if (parts[i] == "distilled" && parsed.family == "deit" && i == 2) {
      parsed.distilled = true;
    } else if (parts[i].starts_with("patch") && i + 2 == parts.size()) {
      parsed.patch = parse_patch(parts[i]);
      if (parsed.patch == 0) return false;
    } else {
      return false;
    }
  }
  return parsed.image.find_first_not_of("0123456789x") == std::string::npos &&
         (parsed.patch > 0 || parsed.family == "pit");
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
  return config;
}

ModelInfo info_of(const std::string& family, const std::string& name, json config) {
  config["family"] = family;
  ModelInfo info;
  info.name = name.empty() ? family : name;
  info.img_size = config["img_size"].get<std::array<std::int64_t, 2>>();
  info.in_chans = config["in_chans"].get<std::int64_t>();
  info.num_classes = config["num_classes"].get<std::int64_t>();
  info.config = config.dump();
  return info;
}

struct Request {
  std::string family, name;
  std::uint64_t seed = 0;
  TensorOptions options;
};

std::unique_ptr<Model> build_vit(json config, const Request& r) {
  if (r.family == "pit" && !config.contains("patch_size")) config["patch_size"] = 1;
  const ViTConfig c = read_vit_config(config);
  return std::make_unique<ViT>(info_of(r.family, r.name, to_json(c)), c, r.seed, r.options);
}

/// A DeiT without distillation token is the ViT of the same settings.
std::unique_ptr<Model> build_deit(const json& config, const Request& r) {
  const DeiTConfig c = read_deit_config(config);
  const ModelInfo info = info_of(r.family, r.name, to_json(c));
  if (c.distilled) return std::make_unique<DeiT>(info, c, r.seed, r.options);
  ViTConfig plain;
  plain.image = c.image;
  plain.encoder = c.encoder;
  plain.num_classes = c.num_classes;
  plain.pos_drop_rate = c.pos_drop_rate;
  return std::make_unique<ViT>(info, plain, r.seed, r.options);
}

std::unique_ptr<Model> build_linear(const json& config, const Request& r) {
  const LinearModelConfig c = read_linear_config(config);
  return std::make_unique<LinearModel>(info_of(r.family, r.name, to_json(c)), c, r.seed, r.options);
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names{"linear"};
  for (const Size& size : kSizes) {
    const std::string s(size.name);
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
  }
  std::sort(names.begin(), names.end());
  return names;
}

json preset(std::string_view name) {
  if (name == "linear") return {{"family", "linear"}};
  ParsedName parsed;
  if (parse_name(name, parsed)) {
    const auto* const size = std::find_if(std::begin(kSizes), std::end(kSizes),
                                          [&](const Size& s) { return s.name == parsed.size; });
    const bool known = parsed.family == "vit" || parsed.family == "deit" || parsed.family == "pit";
    if (known && size != std::end(kSizes)) return transformer_preset(parsed, *size);
  }
  fail("model: ", name, " is not known, the nearest name is ", nearest_name(name, model_names()));
}

std::unique_ptr<Model> make_model(const std::string& name, const json& overrides,
                                  std::uint64_t seed, TensorOptions options) {
  json config = preset(name);
  if (!overrides.is_null()) {
    check(overrides.is_object(), "make_model: overrides: got ", overrides.dump(),
          ", expected a JSON object");
    check(!overrides.contains("family"), "make_model: the family belongs to the name ", name,
          " and cannot be overridden");
    config.update(overrides);
  }
  return make_model_from_config(config, seed, options, name);
}

std::unique_ptr<Model> make_model_from_config(const json& config, std::uint64_t seed,
                                              TensorOptions options, const std::string& name) {
  check(config.is_object() && config.contains("family") && config["family"].is_string(),
        "model config: key family is missing");
  check(options.dtype == DType::f32 || options.dtype == DType::f64, "model ", name,
        ": parameters are f32 or f64, got ", options.dtype,
        "; bf16 is a matter of the activations (Context::activations)");
  json settings = config;
  settings.erase("family");
  const Request request{config["family"].get<std::string>(), name, seed, options};
  if (request.family == "vit" || request.family == "pit") return build_vit(settings, request);
  if (request.family == "deit") return build_deit(settings, request);
  if (request.family == "linear") return build_linear(settings, request);
  fail("model config: family ", request.family, " is not known, the nearest one is ",
       nearest_name(request.family, {"vit", "pit", "deit", "linear"}));
}

}  // namespace fovea
