// Lowerings of softmax and of attention: Mul, MatMul, Add, Softmax, MatMul.
#include "export/lower_rotary.h"
#include "export/lowering.h"

namespace fovea::onnx {
namespace {

std::string softmax(const Call& c, const std::string& x, std::int64_t axis) {
  return c.node("Softmax", {x}, {{"axis", axis}});
}

/// softmax(q k^T scale + bias) v for q [B, H, N, D], k [B, H, D, M], v [B, H, M, E].
std::string attend(const Call& c, const std::string& q, const std::string& transposed_k,
                   const std::string& v, const std::string& bias) {
  const std::string scaled = c.node("Mul", {q, c.number(c.real("scale"))});
  std::string scores = c.node("MatMul", {scaled, transposed_k});
  if (!bias.empty()) scores = c.node("Add", {scores, bias});
  return c.node("MatMul", {softmax(c, scores, -1), v});
}

std::string attention(const Call& c) {
  const auto turned = [&](int i) { return rotated(c, c[i], c.shape(i)[2], 4); };
  return attend(c, turned(0), c.transpose(turned(1), {0, 1, 3, 2}), c[2], c[3]);
}

/// qkv [B, N, 3 H D] -> [B, N, H D].
std::string self_attention(const Call& c) {
  const std::int64_t heads = c.integer("heads"), width = c.shape(0)[2] / 3;
  const std::vector<std::int64_t> by_head{0, 0, heads, width / heads};
  const auto parts = c.writer().nodes("Split", {c[0], c.writer().integers({width, width, width})},
                                      3, {{"axis", std::int64_t{2}}});
  const auto part = [&](std::size_t i) {
    return c.transpose(c.reshape(parts[i], by_head), {0, 2, 1, 3});
  };
  const auto turned = [&](std::size_t i) { return rotated(c, part(i), c.shape(0)[1], 2); };
  const std::string transposed_k = c.has(2)
                                       ? c.transpose(turned(1), {0, 1, 3, 2})
                                       : c.transpose(c.reshape(parts[1], by_head), {0, 2, 3, 1});
  const std::string y = attend(c, turned(0), transposed_k, part(2), c[1]);  // [B, H, N, D]
  return c.reshape(c.transpose(y, {0, 2, 1, 3}), {0, 0, -1});
}

}  // namespace

LoweringTable attention_lowerings() {
  return {
      {"attention", attention},
      {"log_softmax",
       [](const Call& c) {
         return c.node("LogSoftmax", {c[0]}, {{"axis", c.integer("axis")}});
       }},
      {"rotate", [](const Call& c) { return rotated(c, c[0], c.shape(0)[2], 1); }},
      {"self_attention", self_attention},
      {"softmax", [](const Call& c) { return softmax(c, c[0], c.integer("axis")); }},
  };
}

}  // namespace fovea::onnx
