// The members of WorkloadSpec by name.
#include "bench/spec_json.h"

#include "engine/base/json.h"

namespace fovea::bench {

using nlohmann::json;

json json_of(const WorkloadSpec& s) {
  json spec{{"workload", s.id},
            {"mode", s.mode},
            {"precision", s.precision},
            {"batch", s.batch},
            {"device", to_string(s.device)}};
  if (!s.config.empty()) spec["config"] = json::parse(s.config);
  return spec;
}

WorkloadSpec spec_of(const json& j) {
  const std::string config = j.contains("config") ? json_text(j.at("config")) : "";
  return {j.at("workload"),
          j.at("mode"),
          j.at("precision"),
          j.at("batch"),
          parse_device(j.at("device").get<std::string>()),
          config};
}

}  // namespace fovea::bench
