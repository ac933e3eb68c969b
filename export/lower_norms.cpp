// Lowerings of normalisations and reductions.
#include "export/lowering.h"
#include "ops/view.h"

namespace fovea::onnx {
namespace {

std::string ones_of(const Call& c, std::int64_t count) {
  return c.writer().constant(concat("f32/ones[", count, "]"), ones({count}));
}
std::string zeros_of(const Call& c, std::int64_t count) {
  return c.writer().constant(concat("f32/zeros[", count, "]"), zeros({count}));
}

/// Weight and bias [B, C] of each image as [B, 1, ..., C].
std::string of_image(const Call& c, int input) {
  std::string x = c[input];
  for (int axis = 1; axis < c.shape(0).rank() - 1; ++axis) x = c.unsqueeze(x, 1);
  return x;
}

std::string layer_norm(const Call& c) {
  const std::int64_t channels = c.shape(0)[-1];
  const GraphWriter::Attributes how{{"axis", std::int64_t{-1}},
                                    {"epsilon", static_cast<float>(c.real("eps"))}};
  const bool is_adaptive = c.has(1) && c.shape(1).rank() == 2;
  const std::string weight = c.has(1) && !is_adaptive ? c[1] : ones_of(c, channels);
  std::string y = c.node("LayerNormalization", {c[0], weight, is_adaptive ? "" : c[2]}, how);
  if (is_adaptive) y = c.node("Mul", {y, of_image(c, 1)});
  if (is_adaptive && c.has(2)) y = c.node("Add", {y, of_image(c, 2)});
  return y;
}

/// x / sqrt(mean(x^2) + eps) weight.
std::string rms_norm(const Call& c) {
  const std::string square = c.reduce("ReduceMean", c.node("Mul", {c[0], c[0]}), {-1}, true);
  const std::string shifted = c.node("Add", {square, c.number(c.real("eps"))});
  const std::string y = c.node("Div", {c[0], c.node("Sqrt", {shifted})});
  return c.has(1) ? c.node("Mul", {y, c[1]}) : y;
}

/// A parameter [C] as [C, 1, ..., 1], to be broadcast over the cells of a map.
std::string of_channels(const Call& c, int input) {
  Shape shape{c.constant(input).numel()};
  for (int axis = 2; axis < c.shape(0).rank(); ++axis) shape.push_back(1);
  return c.store(input, ops::reshape(c.constant(input).detach(), shape).contiguous());
}

std::string instance_norm_of(const Call& c, const std::string& x, const std::string& weight,
                             const std::string& bias) {
  return c.node("InstanceNormalization", {x, weight, bias},
                {{"epsilon", static_cast<float>(c.real("eps"))}});
}

std::string instance_norm(const Call& c) {
  const std::int64_t channels = c.shape(0)[1];
  return instance_norm_of(c, c[0], c.has(1) ? c[1] : ones_of(c, channels),
                          c.has(2) ? c[2] : zeros_of(c, channels));
}

/// The channels of a group as one channel. (GroupNormalization is of opset 21.)
std::string group_norm(const Call& c) {
  const std::int64_t groups = c.integer("groups");
  const std::string x = c.reshape(c[0], {0, groups, -1});
  std::string y = instance_norm_of(c, x, ones_of(c, groups), zeros_of(c, groups));
  y = c.reshape(y, c.output());
  if (c.has(1)) y = c.node("Mul", {y, of_channels(c, 1)});
  return c.has(2) ? c.node("Add", {y, of_channels(c, 2)}) : y;
}

std::string group_norm_silu(const Call& c) {
  const std::string y = group_norm(c);
  return c.node("Mul", {y, c.node("Sigmoid", {y})});
}

std::string batch_norm(const Call& c) {
  const std::int64_t channels = c.shape(0)[1];
  const auto statistic = [&](int input) {
    return c.store(input, c.constant(input).to(DType::f32));
  };
  const std::string y =
      c.node("BatchNormalization",
             {c[0], c.has(1) ? c[1] : ones_of(c, channels), c.has(2) ? c[2] : zeros_of(c, channels),
              statistic(3), statistic(4)},
             {{"epsilon", static_cast<float>(c.real("eps"))}});
  return c.integer("relu") != 0 ? c.node("Relu", {y}) : y;
}

template <const char* op>
std::string reduction(const Call& c) {
  return c.reduce(op, c[0], c.integers("axes"), c.integer("keepdim") != 0);
}

/// x / max(sum |x|, eps).
std::string l1_normalize(const Call& c) {
  const std::string sum = c.reduce("ReduceSum", c.node("Abs", {c[0]}), {c.integer("axis")}, true);
  return c.node("Div", {c[0], c.node("Max", {sum, c.number(c.real("eps"))})});
}

constexpr char kMean[] = "ReduceMean", kSum[] = "ReduceSum", kMax[] = "ReduceMax";

}  // namespace

LoweringTable norm_lowerings() {
  return {
      {"amax", reduction<kMax>},        {"batch_norm", batch_norm},
      {"group_norm", group_norm},       {"group_norm_silu", group_norm_silu},
      {"instance_norm", instance_norm}, {"l1_normalize", l1_normalize},
      {"layer_norm", layer_norm},       {"mean", reduction<kMean>},
      {"rms_norm", rms_norm},           {"sum", reduction<kSum>},
  };
}

}  // namespace fovea::onnx
