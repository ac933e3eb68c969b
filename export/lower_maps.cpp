// Lowerings of pooling and of enlarging maps.
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

}  // namespace

LoweringTable map_lowerings() {
  return {
      {"avg_pool2d", avg_pool2d},
      {"max_pool2d", [](const Call& c) { return c.node("MaxPool", {c[0]}, windows(c)); }},
      {"upsample_nearest", upsample_nearest},
  };
}

}  // namespace fovea::onnx
