// Building a model from a name or a file's metadata, without loading weights.
#include "apps/common/named_model.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/fields.h"
#include "models/checkpoints/hub_config.h"
#include "models/checkpoints/pretrained.h"
#include "models/checkpoints/weights_folder.h"
#include "models/registry.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

bool is_model_name(const std::string& name) {
  try {
    static_cast<void>(preset(name));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool holds_weights(const fs::path& path) {
  try {
    return fs::is_regular_file(weights_in(path));
  } catch (const Error&) {
    return false;
  }
}

std::unique_ptr<Model> make_model_of_files(const fs::path& path, const std::string& settings,
                                           TensorOptions options) {
  const fs::path weights = weights_in(path);
  const Metadata metadata = read_metadata(weights);
  check(metadata.contains("config") || find_hub_config(weights).has_value(), weights.string(),
        ": neither its metadata nor a config.json of timm or transformers next to it names its "
        "model; "
        "pass a model name instead");
  ModelRequest request;
  request.settings = settings;
  request.options = options;
  return make_model_of(metadata, weights, request);
}

}  // namespace

std::unique_ptr<Model> make_named_model(const std::string& named, const std::string& settings,
                                        TensorOptions options) {
  std::error_code none;
  const bool is_path = fs::exists(named, none);
  if (is_path && (holds_weights(named) || !is_model_name(named))) {
    return make_model_of_files(named, settings, options);
  }
  check(named.find('/') == std::string::npos, named,
        ": does not exist, expected a model name, a run directory, a hub folder or a weights file");
  try {
    return make_model(named, nlohmann::json::parse(settings), 0, options);
  } catch (const Error& error) {  // an unknown name or setting
    throw UsageError(error.what());
  }
}

}  // namespace fovea
