// A workload as JSON: for the peers, for our own processes, and in the rows.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/workload.h"

namespace fovea::bench {

/// {"workload", "mode", "precision", "batch", "device"}, and "config" of a model with settings.
[[nodiscard]] nlohmann::json json_of(const WorkloadSpec& spec);
/// The inverse.
[[nodiscard]] WorkloadSpec spec_of(const nlohmann::json& spec);

}  // namespace fovea::bench
