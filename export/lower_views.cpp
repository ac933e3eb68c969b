// Lowerings of ops that move elements without arithmetic.
#include <utility>

#include "export/lowering.h"

namespace fovea::onnx {
namespace {

std::string permute(const Call& c) { return c.transpose(c[0], c.integers("order")); }

std::string transpose(const Call& c) {
  std::vector<std::int64_t> order;
  for (int axis = 0; axis < c.shape(0).rank(); ++axis) order.push_back(axis);
  const auto axes = c.integers("axes");
  std::swap(order.at(static_cast<std::size_t>(axes[0])),
            order.at(static_cast<std::size_t>(axes[1])));
  return c.transpose(c[0], order);
}

std::string slice(const Call& c) {
  return c.slice(c[0], c.integer("axis"), c.sizes("start")[0], c.sizes("stop")[0],
                 c.integer("step"));
}

std::string split(const Call& c) {
  const std::int64_t start = c.integer("start");
  return c.slice(c[0], c.integer("axis"), start, start + c.integer("size"));
}

std::string select(const Call& c) {
  return c.node("Gather", {c[0], c.writer().integer(c.integer("index"))},
                {{"axis", c.integer("axis")}});
}

/// Sizes of 1 keep those of x, among them the batch's.
std::string expand(const Call& c) {
  const TracedValue& y = c.output();
  std::vector<TracedSize> sizes;
  for (int axis = 0; axis < y.tensor.rank(); ++axis) {
    sizes.push_back(axis == y.batch_axis ? TracedSize(1) : size_of(y, axis));
  }
  return c.node("Expand", {c[0], c.list_of(sizes)});
}

std::string concat_all(const Call& c, const std::vector<std::string>& parts) {
  return c.node("Concat", parts, {{"axis", c.integer("axis")}});
}

std::string cat(const Call& c) {
  std::vector<std::string> parts;
  for (int i = 0; i < c.input_count(); ++i) parts.push_back(c[i]);
  return concat_all(c, parts);
}

std::string stack(const Call& c) {
  std::vector<std::string> parts;
  for (int i = 0; i < c.input_count(); ++i) parts.push_back(c.unsqueeze(c[i], c.integer("axis")));
  return concat_all(c, parts);
}

/// Amounts are (before, after) from the last axis backwards; ONNX wants all before, then all after.
std::string pad(const Call& c) {
  const auto amounts = c.integers("amounts");
  const auto rank = static_cast<std::size_t>(c.shape(0).rank());
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < amounts.size() / 2; ++i) {
    pads[rank - 1 - i] = amounts[2 * i];
    pads[2 * rank - 1 - i] = amounts[2 * i + 1];
  }
  return c.node("Pad", {c[0], c.writer().integers(pads), c.number(c.real("value"))});
}

std::string roll(const Call& c) {
  const std::int64_t axis = c.integer("axis"), shift = c.integer("shift");
  const std::int64_t size = c.shape(0)[static_cast<int>(axis)];
  if (shift == 0) return c[0];
  return concat_all(
      c, {c.slice(c[0], axis, size - shift, size), c.slice(c[0], axis, 0, size - shift)});
}

}  // namespace

LoweringTable view_lowerings() {
  return {
      {"cat", cat},
      {"expand", expand},
      {"pad", pad},
      {"permute", permute},
      {"reshape", [](const Call& c) { return c.reshape(c[0], c.output()); }},
      {"roll", roll},
      {"select", select},
      {"slice", slice},
      {"split", split},
      {"squeeze",
       [](const Call& c) {
         return c.node("Squeeze", {c[0], c.writer().integers({c.integer("axis")})});
       }},
      {"stack", stack},
      {"transpose", transpose},
      {"unsqueeze", [](const Call& c) { return c.unsqueeze(c[0], c.integer("axis")); }},
  };
}

}  // namespace fovea::onnx
