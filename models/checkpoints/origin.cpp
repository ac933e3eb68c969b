// Finding the description of the model that weights were saved from.
#include "models/checkpoints/origin.h"

#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "models/checkpoints/hub_config.h"
#include "models/registry.h"
#include "models/shapes_only.h"

namespace fovea {
namespace {

/// A timm folder whose model is not supported here still determines how tables are resized.
std::optional<WeightsOrigin> origin_in_hub(const std::filesystem::path& weights) {
  try {
    const std::optional<HubConfig> hub = find_hub_config(weights);
    if (!hub) return {};
    return WeightsOrigin{hub->config, hub->pos_resize};
  } catch (const Error&) {
    return WeightsOrigin{{}, PosResize::timm};
  }
}

}  // namespace

WeightsOrigin origin_of(const Metadata& metadata, const std::filesystem::path& weights,
                        const std::string& name) {
  const auto own = metadata.find("config");
  if (own != metadata.end()) return {own->second};
  if (const std::optional<WeightsOrigin> hub = origin_in_hub(weights)) return *hub;
  if (name.empty()) return {};
  return {json_text(preset(name))};
}

std::map<std::string, Parameter> parameters_of(const WeightsOrigin& origin) {
  constexpr std::int64_t kMax = std::int64_t{1} << 50;  // bytes; never reached
  std::map<std::string, Parameter> parameters;
  if (origin.config.empty()) return parameters;
  try {
    const ShapesOnly shapes("the weights' model", kMax);
    const auto model = make_model_from_config(parse_json(origin.config));
    for (const auto* list : {&model->store().parameters(), &model->store().buffers()}) {
      for (const Parameter& p : *list) parameters.emplace(p.name, p);
    }
  } catch (const Error&) {  // a config from another version cannot be read
    parameters.clear();
  }
  return parameters;
}

}  // namespace fovea
