// Forward pass of the detection PEG.
#include "models/layers/detection_peg.h"

#include "models/layers/norm.h"
#include "models/layers/tokens.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"

namespace fovea {

DetectionPeg::DetectionPeg(const Scope& s, const DetectionPegConfig& c)
    : config_(c),
      filters_((s / "proj" / 0).param("weight", {c.dim, 1, 3, 3}, torch_default(9))),
      affine_(affine_parameters(s / "proj" / 1, c.dim)),
      running_(s / "proj" / 1, c.dim) {}

Tensor DetectionPeg::operator()(const Tensor& x, const MapCells& cells, const Context& ctx) const {
  const Tensor padding = cells.padding();
  const bool masks = config_.mask_input && padding.defined();
  // In ctx.residual(): bf16 would move many of the values around relu's kink to its other side.
  const Tensor input = masks ? ops::masked_fill(x, padding, 0) : x;
  const Tensor map = tokens_to_map(input, cells.size[0], cells.size[1]);  // [B, D, h, w]
  const Tensor filtered =
      ops::conv2d(map, filters_, {}, {.padding = {1, 1}, .groups = config_.dim});
  const Tensor encoded =
      running_.normalize(filtered, affine_, {.training = ctx.training, .relu = true});
  const Tensor y = x + map_to_tokens(encoded);  // [B, N, D]
  return padding.defined() ? ops::where(padding, x, y) : y;
}

}  // namespace fovea
