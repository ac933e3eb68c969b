// Forward pass of DETR, from images to classes and boxes.
#include "models/detr.h"

#include "models/layers/tokens.h"

namespace fovea {

Detr::Detr(ModelInfo info, const DetrConfig& c, std::uint64_t seed, TensorOptions options)
    : Detector(std::move(info), c.detector, seed, options),
      config_(c),
      input_proj_(at("input_proj"), backbone().channels(), c.detector.d_model,
                  torch_default(backbone().channels()), torch_default(backbone().channels())),
      transformer_(at("transformer"), c.detector, c.pre_norm),
      query_embed_(at("query_embed")
                       .param("weight", {c.detector.num_queries, c.detector.d_model}, normal(1))),
      class_embed_(Linear::torch(at("class_embed", Role::head), c.detector.d_model,
                                 c.detector.num_classes + 1)),
      bbox_embed_(at("bbox_embed", Role::output), c.detector.d_model,
                  {torch_default(c.detector.d_model), torch_default(c.detector.d_model)}) {}

DetectorOutput Detr::detect(const FeatureMap& map, Context& ctx) const {
  const Tensor tokens = input_proj_(map.values, ctx);  // [B, N, D]
  const std::array<std::int64_t, 2> size{map.values.size(2), map.values.size(3)};
  if (ctx.tap) ctx.show("feat/proj", tokens_to_map(tokens, size[0], size[1]));
  const TensorOptions options{ctx.residual(), map.values.device()};
  const MapCells cells = map_cells(map.mask, size, options.dtype);
  DetrMemory memory;
  memory.positions = sine_positions(cells, config_.detector.d_model, 0, options);
  memory.key_bias = cells.key_bias();
  if (ctx.tap) ctx.show("feat/pos", tokens_to_map(memory.positions, size[0], size[1]));
  memory.values = transformer_.encode(tokens, memory.positions, cells, ctx);
  ctx.show("feat/memory", memory.values);

  const Tensor decoded =  // [L, B, Q, D], in ctx.residual(), so that boxes are not rounded
      transformer_.decode(query_embed_.to(options.dtype), memory, ctx);
  return {class_embed_(decoded), ops::sigmoid(bbox_embed_(decoded))};
}

SetLossOptions Detr::loss_options() const {
  return {.class_loss = ClassLoss::softmax, .class_weight = 1, .eos_coef = config_.eos_coef};
}

}  // namespace fovea
