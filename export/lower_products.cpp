// Lowerings of matrix products and convolutions.
#include <array>

#include "export/lowering.h"
#include "ops/view.h"

namespace fovea::onnx {
namespace {

/// x weight^T + bias; weight and bias are inputs of the op. The weight is stored transposed.
std::string layer(const Call& c, const std::string& x, int weight, int bias) {
  const Tensor transposed = ops::transpose(c.constant(weight).detach(), 0, 1).contiguous();
  const std::string y = c.node("MatMul", {x, c.store(weight, transposed)});
  return c.has(bias) ? c.node("Add", {y, c[bias]}) : y;
}

std::string with_residual(const Call& c, const std::string& y, int residual) {
  return c.has(residual) ? c.node("Add", {c[residual], y}) : y;
}

std::string linear(const Call& c) { return with_residual(c, layer(c, c[0], 1, 2), 3); }

std::string linear_gelu(const Call& c) { return gelu(c, layer(c, c[0], 1, 2)); }

std::string mlp(const Call& c) {
  return with_residual(c, layer(c, gelu(c, layer(c, c[0], 1, 2)), 3, 4), 5);
}

std::string factor(const Call& c, int input, bool is_transposed) {
  if (!is_transposed) return c[input];
  std::vector<std::int64_t> order;
  for (int axis = 0; axis < c.shape(input).rank(); ++axis) order.push_back(axis);
  std::swap(order[order.size() - 2], order.back());
  return c.transpose(c[input], order);
}

std::string matmul(const Call& c) {
  return c.node("MatMul", {factor(c, 0, c.integer("transpose_a") != 0),
                           factor(c, 1, c.integer("transpose_b") != 0)});
}

/// Images [B, C, H, W] -> tokens [B, N, D].
std::string patch_embed(const Call& c) {
  const auto patch = c.integers("patch");
  const std::string map =
      c.node("Conv", {c[0], c[1], c[2]}, {{"kernel_shape", patch}, {"strides", patch}});
  return c.transpose(c.reshape(map, {0, 0, -1}), {0, 2, 1});
}

std::string conv2d(const Call& c) {
  const auto padding = c.integers("padding");
  std::vector<std::int64_t> more{0, 0};
  if (c.has("more_padding")) more = c.integers("more_padding");
  const std::vector<std::int64_t> pads{padding[0], padding[1], padding[0] + more[0],
                                       padding[1] + more[1]};
  return c.node("Conv", {c[0], c[1], c[2]},
                {{"kernel_shape", c.integers("kernel")},
                 {"strides", c.integers("stride")},
                 {"pads", pads},
                 {"dilations", c.integers("dilation")},
                 {"group", c.integer("groups")}});
}

/// Depthwise filters that also add their input: 1 at the centre.
Tensor with_identity(const Tensor& weight) {
  const Tensor filters = weight.detach().clone();
  const std::int64_t taps = weight.size(2) * weight.size(3);
  for (std::int64_t channel = 0; channel < weight.size(0); ++channel) {
    filters.data<float>()[channel * taps + taps / 2] += 1;
  }
  return filters;
}

/// Tokens as a map, convolved, and back; the prefix passes through.
std::string depthwise_tokens(const Call& c) {
  const std::int64_t prefix = c.integer("prefix"), padding = c.integer("padding");
  const std::int64_t channels = c.shape(0)[2];
  const TracedSize tokens = size_of(c.value(0), 1);
  const auto grid = c.sizes("grid");
  const std::string patches = prefix == 0 ? c[0] : c.slice(c[0], 1, prefix, tokens);
  const std::string map = c.node("Reshape", {c.transpose(patches, {0, 2, 1}),
                                             c.list_of({0, 0, grid[0], grid[1]})});  // [B, D, H, W]
  const Tensor& weight = c.constant(1);
  const std::string filters = c.integer("residual") != 0 ? c.store(1, with_identity(weight)) : c[1];
  const std::string y = c.node("Conv", {map, filters, c[2]},
                               {{"kernel_shape", c.integers("kernel")},
                                {"pads", std::vector<std::int64_t>(4, padding)},
                                {"group", channels}});
  const std::string back = c.transpose(c.reshape(y, {0, 0, -1}), {0, 2, 1});  // [B, H' W', D]
  if (prefix == 0) return back;
  return c.node("Concat", {c.slice(c[0], 1, 0, prefix), back}, {{"axis", std::int64_t{1}}});
}

}  // namespace

LoweringTable product_lowerings() {
  return {
      {"conv2d", conv2d},
      {"conv2d_relu", [](const Call& c) { return c.node("Relu", {conv2d(c)}); }},
      {"depthwise_tokens", depthwise_tokens},
      {"linear", linear},
      {"linear_gelu", linear_gelu},
      {"matmul", matmul},
      {"mlp", mlp},
      {"patch_embed", patch_embed},
  };
}

}  // namespace fovea::onnx
