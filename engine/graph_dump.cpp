// The tape as nodes and as text; graph_drawing.cpp draws it.
#include "engine/graph_dump.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>

#include "engine/autograd.h"

namespace fovea {
namespace {

std::int64_t saved_bytes(const Node& node, std::set<const std::byte*>& counted) {
  std::int64_t bytes = 0;
  for (const Node::Saved& s : node.saved) {
    if (s.tensor.defined() && counted.insert(s.tensor.storage().data()).second) {
      bytes += static_cast<std::int64_t>(s.tensor.storage().bytes());
    }
  }
  return bytes;
}

std::string label_of(const Tensor& input) {
  if (input.node()) return "#" + std::to_string(input.node()->sequence);
  if (!input.name().empty()) return input.name();
  std::ostringstream label;
  label << (input.requires_grad() ? "leaf " : "constant ") << input.shape();
  return label.str();
}

}  // namespace

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

std::string graph_text(const Tensor& root) {
  std::ostringstream out;
  std::set<const std::byte*> counted;
  for (const auto& node : tape_of(root)) {
    out << '#' << node->sequence << ' ' << node->name << ' ' << node->output_shape << " <-";
    for (const Tensor& input : node->inputs) out << ' ' << label_of(input);
    const auto kib = static_cast<double>(saved_bytes(*node, counted)) / 1024;
    out << ", saves " << std::fixed << std::setprecision(1) << kib << " KiB\n";
  }
  return out.str();
}

std::vector<std::string> graph_op_names(const Tensor& root) {
  std::set<std::string> names;
  for (const auto& node : tape_of(root)) names.emplace(node->name);
  return {names.begin(), names.end()};
}

std::int64_t graph_saved_bytes(const Tensor& root) {
  std::int64_t bytes = 0;
  std::set<const std::byte*> counted;
  for (const auto& node : tape_of(root)) bytes += saved_bytes(*node, counted);
  return bytes;
}

}  // namespace fovea
