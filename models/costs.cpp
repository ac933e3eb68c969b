// Cost of a model, read from the tape of a forward pass, where every matrix product records its
// multiply-adds.
#include <string_view>

#include "engine/graph_dump.h"
#include "models/model.h"

namespace fovea {
namespace {

/// Label of a matrix product without parameters among its operands.
std::string label_of(const Node& op) {
  return std::string(op.name.ends_with("attention") ? "softmax(q k^T) v" : op.name);
}

/// True for "layer_norm" and, with an op in the same pass, "group_norm_silu".
bool is_norm(std::string_view op) { return op.find("_norm") != std::string_view::npos; }

/// Module of an op that uses a weight, as "blocks.0.attn.qkv"; empty if it uses none.
std::string module_of(const Node& op) {
  constexpr std::string_view leaf = ".weight";
  for (const Tensor& input : op.inputs) {
    if (input.name().ends_with(leaf)) {
      return input.name().substr(0, input.name().size() - leaf.size());
    }
  }
  return {};
}

Shape without_batch(const Shape& shape) {
  Shape rest;
  for (int axis = 1; axis < shape.rank(); ++axis) rest.push_back(shape[axis]);
  return rest;
}

/// One row per matrix product and normalisation on a tape. The tape starts with the latest op.
std::vector<ModuleCost> rows_of(const std::vector<std::shared_ptr<Node>>& tape) {
  std::vector<ModuleCost> rows;
  std::string last;  // module of the preceding ops
  for (auto op = tape.rbegin(); op != tape.rend(); ++op) {
    const Node& node = **op;
    std::string path = module_of(node);
    if (!path.empty()) last = path;
    if (node.multiply_adds == 0 && !is_norm(node.name)) continue;
    if (path.empty()) {
      const std::string parent = parent_module(last);
      path = parent.empty() ? label_of(node) : parent + "." + label_of(node);
    }
    rows.push_back({path, without_batch(node.output_shape), node.multiply_adds});
  }
  return rows;
}

}  // namespace

std::vector<ModuleCost> Model::costs() {
  const TensorOptions options = store().options();
  const auto [height, width] = info().img_size;
  const Tensor image = zeros({1, info().in_chans, height, width}, options);
  image.set_requires_grad();  // puts ops of frozen parameters on the tape too
  Context ctx;
  ctx.activations = options.dtype;
  ctx.tap = [](std::string_view, const Tensor&) {};  // count tokens that no head reads, too
  std::vector<ModuleCost> rows = rows_of(tape_of(probe(image, ctx)));
  finish_backward();
  return rows;
}

std::int64_t Model::multiply_adds() {
  std::int64_t total = 0;
  for (const ModuleCost& cost : costs()) total += cost.multiply_adds;
  return total;
}

}  // namespace fovea
