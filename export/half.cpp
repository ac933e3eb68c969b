// Casts in front of all other nodes, and their names in place of the weights'.
#include "export/half.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "ops/arithmetic.h"
#include "ops/reduce.h"

namespace fovea::onnx {
namespace {

constexpr double kMaxHalf = 65504;

bool is_weight_matrix(const TensorProto& initializer) {
  const Shape& shape = initializer.values.shape();
  const auto long_axes =
      std::count_if(shape.begin(), shape.end(), [](std::int64_t size) { return size > 1; });
  return initializer.type == ElementType::f32 && long_axes >= 2 &&
         !initializer.name.starts_with("image/");
}

void require_half(const TensorProto& weight) {
  const double largest = ops::amax(ops::abs(weight.values.detach())).item();
  check(largest <= kMaxHalf, "--half: ", weight.name, " has the value ", largest,
        ", but f16 ends at 65504");
}

}  // namespace

void store_halves(GraphProto& graph) {
  std::map<std::string, std::string> wide;  // by the weight's name, that of its f32 values
  std::vector<NodeProto> casts;
  for (TensorProto& initializer : graph.initializers) {
    if (!is_weight_matrix(initializer)) continue;
    require_half(initializer);
    initializer.type = ElementType::f16;
    const std::string name = initializer.name + "/Cast";
    wide[initializer.name] = name;
    casts.push_back({name,
                     "Cast",
                     {initializer.name},
                     {name},
                     {{"to", static_cast<std::int64_t>(ElementType::f32)}}});
  }
  for (NodeProto& node : graph.nodes) {
    for (std::string& input : node.inputs) {
      const auto cast = wide.find(input);
      if (cast != wide.end()) input = cast->second;
    }
  }
  graph.nodes.insert(graph.nodes.begin(), casts.begin(), casts.end());
}

}  // namespace fovea::onnx
