// The attention of a model on an image, as `inspect` draws it.
#include <nanobind/stl/vector.h>

#include <cstring>
#include <vector>

#include "models/model.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "report/inspect/attention_maps.h"

namespace fovea::python {
namespace {

/// The weights of all heads of a block for the first image: [H, L, L].
Tensor weights_of(const BlockAttention& block) {
  const std::int64_t tokens = block.tokens();
  const Tensor all = empty({block.heads(), tokens, tokens});
  for (std::int64_t head = 0; head < block.heads(); ++head) {
    const SquareMap map = block.weights({0, head});
    std::memcpy(all.data<float>() + head * tokens * tokens, map.values.data(),
                map.values.size() * sizeof(float));
  }
  return all;
}

std::vector<Tensor> attention_maps(Model& model, const Tensor& images) {
  check(images.rank() == 4 && images.size(0) == 1, "attention_maps: got images of shape ",
        images.shape(), ", expected one image, [C, H, W] or [1, C, H, W]");
  std::vector<Tensor> maps;
  visit_blocks(model, images,
               [&](const BlockAttention& block) { maps.push_back(weights_of(block)); });
  return maps;
}

}  // namespace

void bind_attention_maps(nb::module_& m) {
  m.def("attention_maps", attention_maps, "model"_a, "images"_a, between_ops);
}

}  // namespace fovea::python
