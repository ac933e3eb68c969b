// Products, normalisations, reductions and what reads maps.
#include <algorithm>
#include <numeric>
#include <string>

#include "engine/base/error.h"
#include "export/interpreter.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/deformable.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace fovea::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

std::array<std::int64_t, 2> pair(const Operands& o, const char* name, Integers otherwise) {
  const Integers values = o.attribute<Integers>(name, std::move(otherwise));
  check(values.size() == 2, name, " has ", values.size(), " numbers, expected 2");
  return {values[0], values[1]};
}

/// Zeros before and after each axis, of which `padding` is on all sides.
struct Pads {
  std::array<std::int64_t, 2> padding, more;
};

Pads pads_of(const Operands& o) {
  const Integers pads = o.attribute<Integers>("pads", {0, 0, 0, 0});
  check(pads.size() == 4, "pads has ", pads.size(), " numbers, expected 4");
  return {{pads[0], pads[1]}, {pads[2] - pads[0], pads[3] - pads[1]}};
}

NodeOutputs conv(const Operands& o) {
  const Pads pads = pads_of(o);
  const auto kernel = pair(o, "kernel_shape", {o[1].size(2), o[1].size(3)});
  check(kernel[0] == o[1].size(2) && kernel[1] == o[1].size(3), "has weights ", o[1].shape(),
        " for a kernel of ", kernel[0], "x", kernel[1]);
  return {ops::conv2d(o[0], o[1], o.has(2) ? o[2] : Tensor(),
                      {.stride = pair(o, "strides", {1, 1}),
                       .padding = pads.padding,
                       .more_padding = pads.more,
                       .dilation = pair(o, "dilations", {1, 1}),
                       .groups = o.integer("group", 1)})};
}

ops::Pool2dOptions windows(const Operands& o) {
  const Pads pads = pads_of(o);
  check(pads.more == std::array<std::int64_t, 2>{0, 0}, "pads unequally, which is not known here");
  return {.kernel = pair(o, "kernel_shape", {}),
          .stride = pair(o, "strides", {1, 1}),
          .padding = pads.padding,
          .count_include_pad = o.integer("count_include_pad", 0) != 0};
}

float epsilon(const Operands& o) { return o.attribute<float>("epsilon", 1e-5F); }

/// Over the last axis, the only one that is written here.
NodeOutputs layer_norm(const Operands& o) {
  const std::int64_t axis = o.integer("axis", -1);
  check(axis == -1 || axis == o[0].rank() - 1, "normalises from axis ", axis,
        " on, expected the last one");
  return {ops::layer_norm(o[0], o[1], o.has(2) ? o[2] : Tensor(), {epsilon(o)})};
}

NodeOutputs instance_norm(const Operands& o) {
  return {ops::instance_norm(o[0], o[1], o[2], epsilon(o))};
}

NodeOutputs batch_norm(const Operands& o) {
  return {ops::batch_norm(o[0], {o[1], o[2]}, {o[3], o[4]}, {.eps = epsilon(o)})};
}

/// Bilinear, with zeros outside: deformable attention of one head, with a point and weight 1.
NodeOutputs grid_sample(const Operands& o) {
  const std::string mode = o.attribute<std::string>("mode", "linear");
  const std::string padding = o.attribute<std::string>("padding_mode", "zeros");
  const bool aligns = o.integer("align_corners", 0) != 0;
  const bool is_known = (mode == "linear" || mode == "bilinear") && padding == "zeros" && !aligns;
  check(is_known, "samples otherwise than bilinearly with zeros outside");
  const Tensor &maps = o[0], &grid = o[1];  // [N, C, h, w], [N, H, W, 2]
  const std::int64_t N = maps.size(0), C = maps.size(1), H = grid.size(1), W = grid.size(2);
  const Tensor value = ops::unsqueeze(ops::permute(maps, {0, 2, 3, 1}), 3);  // [N, h, w, 1, C]
  const Tensor places = ops::reshape(ops::div(grid + 1, 2), {N, H * W, 1, 1, 2});
  const Tensor y = ops::deformable_attention(value.contiguous(), places.contiguous(),
                                             ones({N, H * W, 1, 1}, maps.options()));
  return {ops::reshape(ops::permute(y, {0, 2, 1}), {N, C, H, W})};
}

enum class Reduction { sum, mean, max };

/// One axis after another, all of them by default. The axes are an input or, before opset 18, an
/// attribute.
template <Reduction reduction>
NodeOutputs reduce(const Operands& o) {
  Integers axes = o.attribute<Integers>("axes", {});
  if (o.has(1)) axes = o.list(1);
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(o[0].rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? o[0].rank() : 0;
  std::sort(axes.rbegin(), axes.rend());
  const bool keepdim = o.integer("keepdims", 1) != 0;
  Tensor y = o[0];
  for (const std::int64_t each : axes) {
    const auto axis = static_cast<int>(each);
    if constexpr (reduction == Reduction::sum) y = ops::sum(y, {axis}, keepdim);
    if constexpr (reduction == Reduction::mean) y = ops::mean(y, {axis}, keepdim);
    if constexpr (reduction == Reduction::max) y = ops::amax(y, {axis}, keepdim);
  }
  return {y};
}

NodeOutputs softmax(const Operands& o) {
  return {ops::softmax(o[0], static_cast<int>(o.integer("axis", -1)))};
}

NodeOutputs log_softmax(const Operands& o) {
  return {ops::log_softmax(o[0], static_cast<int>(o.integer("axis", -1)))};
}

}  // namespace

OperatorTable layer_operators() {
  return {
      {"AveragePool",
       [](const Operands& o) { return NodeOutputs{ops::avg_pool2d(o[0], windows(o))}; }},
      {"BatchNormalization", batch_norm},
      {"Conv", conv},
      {"GridSample", grid_sample},
      {"InstanceNormalization", instance_norm},
      {"LayerNormalization", layer_norm},
      {"LogSoftmax", log_softmax},
      {"MatMul", [](const Operands& o) { return NodeOutputs{ops::matmul(o[0], o[1])}; }},
      {"MaxPool", [](const Operands& o) { return NodeOutputs{ops::max_pool2d(o[0], windows(o))}; }},
      {"ReduceMax", reduce<Reduction::max>},
      {"ReduceMean", reduce<Reduction::mean>},
      {"ReduceSum", reduce<Reduction::sum>},
      {"Softmax", softmax},
  };
}

}  // namespace fovea::onnx
