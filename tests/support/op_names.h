// The names of the ops on a tape.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/graph_dump.h"

namespace fovea {

/// Sorted, each once.
inline std::vector<std::string> op_names(const Tensor& root) {
  std::set<std::string> names;
  for (const auto& node : tape_of(root)) names.emplace(node->name);
  return {names.begin(), names.end()};
}

}  // namespace fovea
