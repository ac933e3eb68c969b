// Forward pass of Deformable DETR, from images to classes and boxes.
#include "models/deformable_detr.h"

#include <cmath>

#include "models/layers/tokens.h"
#include "ops/arithmetic.h"
#include "ops/norm.h"
#include "ops/reduce.h"

namespace fovea {
namespace {

constexpr double kSmallest = 1e-5;  ///< of a coordinate, in its inverse sigmoid

/// Every class starts with the probability 0.01 (Lin et al. 2017, "Focal Loss").
Linear make_class_head(const Scope& s, const DetectorConfig& c) {
  return {s, c.d_model, c.num_classes, torch_default(c.d_model), constant(-std::log(99.0))};
}

/// Boxes start at the references, with sides of sigmoid(-2).
Init box_bias() {
  return [](const Tensor& bias, RandomKey) {
    bias.copy_(from_values({4}, {0, 0, -2, -2}, {DType::f64, {}}));
  };
}

/// log(x / (1 - x)), with both at least kSmallest.
Tensor inverse_sigmoid(const Tensor& x) {
  return ops::log(ops::clamp(x, kSmallest, 1)) - ops::log(ops::clamp(-x + 1, kSmallest, 1));
}

/// The size (width, height) of each image in cells, [B or 1, 1, 2]: the free cells of the first row
/// and of the first column.
Tensor image_size(const MapCells& cells, TensorOptions options) {
  const auto [h, w] = cells.size;
  if (!cells.free.defined()) {
    return from_values({1, 1, 2}, {static_cast<double>(w), static_cast<double>(h)}, options);
  }
  const Tensor width = ops::sum(ops::select(cells.free, 1, 0), {1});
  const Tensor height = ops::sum(ops::select(cells.free, 2, 0), {1});
  return ops::unsqueeze(ops::stack({width, height}, 1), 1).to(options.dtype);
}

/// Group norm, [B, C, h, w], with the statistics of the cells that are 1 in `counted` [B, h, w].
Tensor group_norm_of(const Tensor& x, const Tensor& counted, std::int64_t groups,
                     const ops::Affine& affine, double eps) {
  const std::int64_t B = x.size(0), C = x.size(1), N = x.size(2) * x.size(3);
  const Tensor values = ops::reshape(x, {B, groups, C / groups, N});
  const Tensor cells = ops::reshape(counted, {B, 1, 1, N});
  const Tensor share = cells / (ops::sum(cells, {3}, true) * static_cast<double>(C / groups));
  const Tensor centred = values - ops::sum(values * share, {2, 3}, true);
  const Tensor variance = ops::sum(centred * centred * share, {2, 3}, true);
  const Tensor normalised = ops::reshape(centred * ops::rsqrt(variance + eps), x.shape());
  return normalised * ops::reshape(affine.weight, {C, 1, 1}) + ops::reshape(affine.bias, {C, 1, 1});
}

}  // namespace

NormedProjection::NormedProjection(const Scope& s, std::int64_t in, std::int64_t out)
    : projection_(s / 0, in, out, xavier(in, out), constant(0)),
      affine_(affine_parameters(s.as(Role::norm) / 1, out)) {}

Tensor NormedProjection::operator()(const Tensor& map, const Tensor& counted,
                                    const Context& ctx) const {
  constexpr double kEps = 1e-5;
  const Tensor projected = tokens_to_map(projection_(map, ctx), map.size(2), map.size(3));
  return counted.defined() ? group_norm_of(projected, counted, kGroups, affine_, kEps)
                           : ops::group_norm(projected, kGroups, affine_, kEps);
}

DeformableDetr::DeformableDetr(ModelInfo info, const DeformableDetrConfig& c, std::uint64_t seed,
                               TensorOptions options)
    : Detector(std::move(info), c.detector, seed, options),
      config_(c),
      input_proj_(at("input_proj") / 0, backbone().channels(), c.detector.d_model),
      transformer_(at("transformer"), c.detector, {c.enc_n_points, c.dec_n_points}),
      query_embed_(
          at("query_embed")
              .param("weight", {c.detector.num_queries, 2 * c.detector.d_model}, normal(1))),
      class_embed_(make_class_head(at("class_embed", Role::head) / 0, c.detector)),
      bbox_embed_(at("bbox_embed", Role::output) / 0, c.detector.d_model,
                  {constant(0), box_bias()}) {}

DetectorOutput DeformableDetr::detect(const FeatureMap& map, Context& ctx) const {
  const std::int64_t D = config_.detector.d_model;
  const std::array<std::int64_t, 2> size{map.values.size(2), map.values.size(3)};
  const TensorOptions options{ctx.residual(), map.values.device()};
  const MapCells cells = map_cells(map.mask, size, options.dtype);
  const Tensor projected =  // [B, D, h, w]
      input_proj_(map.values, config_.norm_free_cells ? cells.free : Tensor(), ctx);
  ctx.show("feat/proj", projected);
  Tensor sine;
  if (config_.detector.encoder_pos == EncoderPos::sine) {
    sine = sine_positions(cells, D, -0.5, options);
  }
  if (ctx.tap) {
    const Tensor shown =
        sine.defined() ? sine : zeros({map.values.size(0), cells.count(), D}, options);
    ctx.show("feat/pos", tokens_to_map(shown, size[0], size[1]));
  }
  const Tensor tokens = map_to_tokens(projected).to(options.dtype);  // [B, N, D]
  const Tensor memory = transformer_.encode(tokens, sine, cells, ctx);
  ctx.show("feat/memory", memory);
  return decode({memory, cells}, ctx);
}

/// From the encoder's output to classes and boxes.
DetectorOutput DeformableDetr::decode(const DeformableMemory& memory, Context& ctx) const {
  const std::int64_t B = memory.tokens.size(0), Q = query_embed_.size(0);
  const std::int64_t D = config_.detector.d_model;
  const TensorOptions options = memory.tokens.options();
  const Tensor embed = query_embed_.to(options.dtype);
  const Tensor positions = ops::slice(embed, 1, 0, D), start = ops::slice(embed, 1, D, 2 * D);
  const Tensor references = transformer_.references(positions);  // [Q, 2]
  const DeformableQueries queries{ops::unsqueeze(positions, 0),
                                  references * image_size(memory.cells, options)};
  const Tensor x = ops::expand(ops::unsqueeze(start, 0), {B, Q, D});
  const Tensor decoded =  // [L, B, Q, D], in ctx.residual(), so that boxes are not rounded
      transformer_.decode(x, queries, memory, ctx);

  const Tensor moved = bbox_embed_(decoded);  // [L, B, Q, 4]
  const Tensor centre = ops::slice(moved, 3, 0, 2) + inverse_sigmoid(references);
  const Tensor boxes = ops::cat({centre, ops::slice(moved, 3, 2, 4)}, 3);
  return {class_embed_(decoded), ops::sigmoid(boxes)};
}

SetLossOptions DeformableDetr::loss_options() const {
  return {.class_loss = ClassLoss::focal, .class_weight = 2, .focal_alpha = config_.focal_alpha};
}

}  // namespace fovea
