// The nodes of a tape; graph_drawing.cpp draws them.
#include "engine/graph_dump.h"

#include <cstdint>
#include <functional>
#include <map>

namespace fovea {

std::vector<std::shared_ptr<Node>> tape_of(const Tensor& root) {
  std::map<std::uint64_t, std::shared_ptr<Node>, std::greater<>> found;
  std::vector<std::shared_ptr<Node>> pending{root.node()};
  while (!pending.empty()) {
    const std::shared_ptr<Node> node = pending.back();
    pending.pop_back();
    if (!node || !found.emplace(node->sequence, node).second) continue;
    for (const Tensor& input : node->inputs) pending.push_back(input.node());
  }
  std::vector<std::shared_ptr<Node>> nodes;
  nodes.reserve(found.size());
  for (auto& [sequence, node] : found) nodes.push_back(node);
  return nodes;
}

std::string parent_module(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

}  // namespace fovea
