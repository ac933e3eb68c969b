// Operators that move elements, and those on shapes.
#include <algorithm>
#include <numeric>

#include "engine/base/error.h"
#include "export/interpreter.h"
#include "ops/arithmetic.h"
#include "ops/index.h"
#include "ops/order.h"
#include "ops/view.h"

namespace fovea::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Tensor integers(const Integers& values) {
  const Tensor list = empty({std::ssize(values)}, {DType::i64, {}});
  std::copy(values.begin(), values.end(), list.data<std::int64_t>());
  return list;
}

int axis_of(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

/// A size of 0 is that of the input, -1 is inferred.
NodeOutputs reshape(const Operands& o) {
  Integers sizes = o.list(1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0 && o.integer("allowzero", 0) == 0) sizes[i] = o[0].size(static_cast<int>(i));
  }
  return {ops::reshape(o[0], Shape(sizes))};
}

NodeOutputs transpose(const Operands& o) {
  Integers reversed(static_cast<std::size_t>(o[0].rank()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Integers order = o.attribute<Integers>("perm", reversed);
  const std::vector<int> axes(order.begin(), order.end());
  return {ops::permute(o[0], axes).contiguous()};
}

NodeOutputs slice(const Operands& o) {
  const Integers starts = o.list(1), stops = o.list(2);
  Integers axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (o.has(3)) axes = o.list(3);
  if (o.has(4)) steps = o.list(4);
  Tensor y = o[0];
  for (std::size_t i = 0; i < starts.size(); ++i) {
    y = ops::slice(y, static_cast<int>(axes[i]), {starts[i], stops[i], steps[i]});
  }
  return {y.contiguous()};
}

/// Indices of any shape take the place of the axis.
NodeOutputs gather(const Operands& o) {
  const int axis = axis_of(o.integer("axis", 0), o[0].rank());
  const Tensor flat = ops::reshape(o[1], {-1});
  Integers positions(static_cast<std::size_t>(flat.numel()));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto at = static_cast<std::int64_t>(flat.at(static_cast<std::int64_t>(i)));
    positions[i] = at < 0 ? at + o[0].size(axis) : at;
  }
  Shape shape = o[0].shape();
  shape.erase(axis);
  for (int i = 0; i < o[1].rank(); ++i) shape.insert(axis + i, o[1].size(i));
  return {ops::reshape(ops::index_select(o[0], axis, integers(positions)), shape)};
}

NodeOutputs gather_elements(const Operands& o) {
  return {ops::gather(o[0], static_cast<int>(o.integer("axis", 0)), o[1])};
}

NodeOutputs concat_inputs(const Operands& o) {
  return {ops::cat(o.inputs, static_cast<int>(o.integer("axis", 0)))};
}

NodeOutputs split(const Operands& o) {
  const auto axis = static_cast<int>(o.integer("axis", 0));
  NodeOutputs parts = ops::split(o[0], o.list(1), axis);
  for (Tensor& part : parts) part = part.contiguous();
  return parts;
}

NodeOutputs unsqueeze(const Operands& o) {
  Integers axes = o.list(1);
  const int rank = o[0].rank() + static_cast<int>(axes.size());
  for (std::int64_t& axis : axes) axis = axis_of(axis, rank);
  std::sort(axes.begin(), axes.end());
  Tensor y = o[0];
  for (const std::int64_t axis : axes) y = ops::unsqueeze(y, static_cast<int>(axis));
  return {y};
}

NodeOutputs squeeze(const Operands& o) {
  Integers axes = o.list(1);
  for (std::int64_t& axis : axes) axis = axis_of(axis, o[0].rank());
  std::sort(axes.rbegin(), axes.rend());
  Tensor y = o[0];
  for (const std::int64_t axis : axes) y = ops::squeeze(y, static_cast<int>(axis));
  return {y};
}

/// Sizes broadcast both ways.
NodeOutputs expand(const Operands& o) {
  const Shape shape = broadcast("Expand", o[0].shape(), Shape(o.list(1)));
  return {ops::expand(o[0], shape).contiguous()};
}

NodeOutputs pad(const Operands& o) {
  const std::string mode = o.attribute<std::string>("mode", "constant");
  check(mode == "constant", "pads by ", mode, ", which is not known here");
  const Integers pads = o.list(1);
  const std::size_t rank = pads.size() / 2;
  Integers amounts;
  for (std::size_t axis = rank; axis > 0; --axis) {
    amounts.insert(amounts.end(), {pads[axis - 1], pads[rank + axis - 1]});
  }
  return {ops::pad(o[0], amounts, o.has(2) ? o[2].item() : 0)};
}

NodeOutputs shape(const Operands& o) {
  const int rank = o[0].rank();
  const int start = std::clamp(axis_of(o.integer("start", 0), rank), 0, rank);
  const int end = std::clamp(axis_of(o.integer("end", rank), rank), start, rank);
  return {integers(Integers(o[0].shape().begin() + start, o[0].shape().begin() + end))};
}

NodeOutputs range(const Operands& o) {
  Integers values;
  for (auto at = static_cast<std::int64_t>(o[0].item());
       at < static_cast<std::int64_t>(o[1].item()); at += static_cast<std::int64_t>(o[2].item())) {
    values.push_back(at);
  }
  return {integers(values).to(o[0].dtype())};
}

/// Along the only axis.
NodeOutputs cumulative_sum(const Operands& o) {
  check(o[0].rank() == 1, "got shape ", o[0].shape(), ", expected one axis");
  const Tensor y = o[0].to(DType::f64).contiguous().clone();
  auto* const values = y.data<double>();
  std::partial_sum(values, values + y.numel(), values);
  return {y.to(o[0].dtype())};
}

NodeOutputs argmax(const Operands& o) {
  return {ops::argmax(o[0], static_cast<int>(o.integer("axis", 0)), o.integer("keepdims", 1) != 0)};
}

NodeOutputs topk(const Operands& o) {
  const auto [values, positions] =
      ops::topk(o[0], o.list(1).at(0), static_cast<int>(o.integer("axis", -1)));
  return {values, positions};
}

}  // namespace

OperatorTable shape_operators() {
  return {
      {"ArgMax", argmax},
      {"Concat", concat_inputs},
      {"CumSum", cumulative_sum},
      {"Expand", expand},
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"Pad", pad},
      {"Range", range},
      {"Reshape", reshape},
      {"Shape", shape},
      {"Slice", slice},
      {"Split", split},
      {"Squeeze", squeeze},
      {"TopK", topk},
      {"Transpose", transpose},
      {"Unsqueeze", unsqueeze},
  };
}

}  // namespace fovea::onnx
