// Lowerings of what reads maps: pooling, enlarging, sampling.
#include "export/lowering.h"

namespace fovea::onnx {
namespace {

GraphWriter::Attributes windows(const Call& c) {
  const auto padding = c.integers("padding");
  return {{"kernel_shape", c.integers("kernel")},
          {"strides", c.integers("stride")},
          {"pads", std::vector<std::int64_t>{padding[0], padding[1], padding[0], padding[1]}}};
}

std::string avg_pool2d(const Call& c) {
  GraphWriter::Attributes how = windows(c);
  how.push_back({"count_include_pad", c.integer("count_include_pad")});
  return c.node("AveragePool", {c[0]}, how);
}

/// Each pixel factor x factor times: [B, C, H, W] -> [B, C, H, f, W, f] -> [B, C, f H, f W].
std::string upsample_nearest(const Call& c) {
  const std::int64_t factor = c.integer("factor");
  const std::string cells = c.unsqueeze(c.unsqueeze(c[0], 3), 5);
  const std::string repeated =
      c.node("Expand", {cells, c.writer().integers({1, 1, 1, factor, 1, factor})});
  return c.reshape(repeated, c.output());
}

/// value [B, h, w, H, D], locations [B, Q, H, P, 2], weights [B, Q, H, P] -> [B, Q, H D]: each head
/// of each image is a map that GridSample reads.
std::string deformable_attention(const Call& c) {
  const std::int64_t heads = c.shape(0)[3], width = c.shape(0)[4], points = c.shape(1)[3];
  const TracedSize h = size_of(c.value(0), 1), w = size_of(c.value(0), 2);
  const TracedSize queries = size_of(c.value(1), 1);  // in the encoder one for each cell
  const auto reshape = [&](const std::string& x, const std::vector<TracedSize>& sizes) {
    return c.node("Reshape", {x, c.list_of(sizes)});
  };
  const std::string maps = reshape(c.transpose(c[0], {0, 3, 4, 1, 2}), {-1, width, h, w});
  const std::string places = reshape(c.transpose(c[1], {0, 2, 1, 3, 4}), {-1, queries, points, 2});
  const std::string grid =
      c.node("Sub", {c.node("Mul", {places, c.number(2)}), c.number(1)});  // -1 to 1
  const std::string mode = c.writer().opset() >= 20 ? "linear" : "bilinear";
  const std::string samples =  // [B H, D, Q, P]
      c.node("GridSample", {maps, grid}, {{"mode", mode}, {"padding_mode", std::string("zeros")}});
  const std::string weights = reshape(c.transpose(c[2], {0, 2, 1, 3}), {-1, 1, queries, points});
  const std::string sums = c.reduce("ReduceSum", c.node("Mul", {samples, weights}), {3}, false);
  return c.transpose(reshape(sums, {-1, heads * width, queries}), {0, 2, 1});
}

}  // namespace

LoweringTable map_lowerings() {
  return {
      {"avg_pool2d", avg_pool2d},
      {"deformable_attention", deformable_attention},
      {"max_pool2d", [](const Call& c) { return c.node("MaxPool", {c[0]}, windows(c)); }},
      {"upsample_nearest", upsample_nearest},
  };
}

}  // namespace fovea::onnx
