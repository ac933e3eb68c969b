// Loading a VAE.
#include "models/checkpoints/vae_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/sha256.h"
#include "engine/base/text.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/weights_folder.h"
#include "models/config_fields.h"
#include "models/model_as.h"
#include "models/registry.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const Tensor* find_weight(const TensorMap& tensors, const std::string& name) {
  const auto found = tensors.find(name + ".weight");
  return found == tensors.end() || found->second.rank() != 4 ? nullptr : &found->second;
}

const Tensor& require_weight(const TensorMap& tensors, const std::string& name) {
  const Tensor* const found = find_weight(tensors, name);
  check(found != nullptr, "is no VAE: it has no ", name,
        ".weight; expected an AutoencoderKL under the names of diffusers or CompVis");
  return *found;
}

/// The weights file of a VAE's folder, or of the folder `vae` of a pipeline.
fs::path vae_weights_in(const fs::path& given) {
  check(fs::exists(given), given.string(),
        ": does not exist, expected a run of train_vae, a folder of diffusers or a weights file");
  std::error_code none;
  const bool is_pipeline = fs::is_directory(given / "vae", none) &&
                           fs::is_regular_file(given / "model_index.json", none);
  return weights_in(is_pipeline ? given / "vae" : given);
}

/// The configuration in the metadata, in a config.json beside the file, or else from the shapes.
json config_of(const Checkpoint& file, const fs::path& path, std::vector<std::string>& notes) {
  const auto own = file.metadata.find("config");
  if (own != file.metadata.end()) {
    const json config = parse_json(own->second);
    check(config.is_object(), "the model in its metadata is not a JSON object");
    return config;
  }
  if (const auto hub = find_hub_config(path)) return json::parse(hub->config);
  const VaeConfig c = vae_config_of(file.tensors);
  json config = write_config(c);
  config["family"] = "vae";
  notes.push_back(
      concat("describes its model by its tensors alone; the scaling factor is taken to "
             "be Stable Diffusion's, ",
             shortest_text(c.scaling_factor)));
  return config;
}

LoadedVae load_vae_from(const fs::path& path, TensorOptions options) {
  const Checkpoint file = read_checkpoint(path);
  LoadedVae loaded{nullptr, path, {}, file.notes};
  const json config = config_of(file, path, loaded.notes);
  const auto name = file.metadata.find("model");
  const std::string shown = name != file.metadata.end() ? visible_text(name->second) : "vae";
  loaded.model = model_as<Vae>(make_model_from_config(config, 0, options, shown));
  const LoadReport report = load_checkpoint(*loaded.model, file, path);
  for (const std::string& note : report.notes) {
    const bool is_new = std::ranges::find(loaded.notes, note) == loaded.notes.end();
    if (is_new) loaded.notes.push_back(note);
  }
  loaded.hash = weights_hash(*loaded.model);
  return loaded;
}

}  // namespace

VaeConfig vae_config_of(const TensorMap& tensors) {
  VaeConfig c;
  c.in_channels = require_weight(tensors, "encoder.conv_in").size(1);
  c.latent_channels = require_weight(tensors, "post_quant_conv").size(0);
  c.block_out_channels.clear();
  const auto block = [](std::size_t level, std::int64_t index) {
    return concat("encoder.down_blocks.", level, ".resnets.", index, ".conv1");
  };
  c.block_out_channels.push_back(require_weight(tensors, block(0, 0)).size(0));
  while (const Tensor* next = find_weight(tensors, block(c.block_out_channels.size(), 0))) {
    c.block_out_channels.push_back(next->size(0));
  }
  c.layers_per_block = 1;
  while (find_weight(tensors, block(0, c.layers_per_block)) != nullptr) ++c.layers_per_block;
  const auto narrow = std::ranges::find_if(
      c.block_out_channels, [&](std::int64_t width) { return width % c.norm_num_groups; });
  check(narrow == c.block_out_channels.end(), "has a level of ", *narrow,
        " channels, which are not ", c.norm_num_groups,
        " groups for group norm; put diffusers' config.json with norm_num_groups beside it");
  return c;
}

std::string weights_hash(const Model& model) {
  Sha256 hash;
  for (const auto& [name, tensor] : state_of(model)) {
    const Tensor values = tensor.to(Device{}).to(DType::f32).contiguous();
    hash.add(name);
    hash.add({reinterpret_cast<const char*>(values.raw()),
              static_cast<std::size_t>(values.numel()) * sizeof(float)});
  }
  return hash.finish();
}

LoadedVae load_vae(const fs::path& given, TensorOptions options) {
  const fs::path path = vae_weights_in(given);
  return with_context(path.string(), [&] { return load_vae_from(path, options); });
}

}  // namespace fovea
