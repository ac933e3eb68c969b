// Reads the sampled maps and counts their pixels.
#include "train/tasks/depth_sample.h"

#include <algorithm>

#include "data/geometry/transforms.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "train/tasks/depth_evaluation.h"

namespace fovea {
namespace {

void add_map(const Image& map, const DepthProtocol& protocol, DepthSample& sample) {
  std::vector<float> depths(static_cast<std::size_t>(map.height * map.width));
  planar_values(map, depths.data());
  const DepthWindow part = window_of(protocol.crop, map.height, map.width);
  ++sample.maps;
  sample.pixels += map.height * map.width;
  for (std::int64_t y = 0; y < map.height; ++y) {
    for (std::int64_t x = 0; x < map.width; ++x) {
      const double depth = depths[static_cast<std::size_t>(y * map.width + x)];
      if (!(depth > 0)) continue;
      const bool is_inside = y >= part.top && y < part.bottom && x >= part.left && x < part.right;
      ++sample.known;
      sample.counted += is_inside && protocol.counts(depth) ? 1 : 0;
      sample.least = std::min(sample.least, depth);
      sample.most = std::max(sample.most, depth);
    }
  }
}

}  // namespace

DepthSample sample_depths(const Dataset& images, const DepthProtocol& protocol) {
  constexpr std::int64_t most = 16;
  const std::int64_t count = std::min(images.size(), most);
  DepthSample sample;
  for (std::int64_t i = 0; i < count; ++i) try {
      const Sample one = images.get(i * images.size() / count);
      const DenseMap* const map = find_depth(one, protocol.source);
      if (map != nullptr) add_map(map->values, protocol, sample);
    } catch (const ImageError&) {
      continue;  // the loader reports it
    }
  return sample;
}

std::string range_text(const DepthSample& sample) {
  const double known = static_cast<double>(sample.known) / static_cast<double>(sample.pixels);
  return concat(fixed_text(sample.least, 2), " to ", fixed_text(sample.most, 2), " m, ",
                percent_text(100 * known, 0), " known");
}

}  // namespace fovea
