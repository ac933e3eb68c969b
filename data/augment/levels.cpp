// Lookup tables over the 256 levels of a channel, some of them computed from its histogram.
//
// Compiled without fused multiply-add (CMakeLists.txt) for bit-identical results with Pillow.
#include <algorithm>
#include <array>

#include "data/augment/color.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr std::int64_t kLevels = 256;

using Histogram = std::array<std::int64_t, kLevels>;
using LevelMap = std::array<std::uint8_t, kLevels>;

LevelMap identity() {
  LevelMap table;
  for (std::size_t v = 0; v < table.size(); ++v) table[v] = static_cast<std::uint8_t>(v);
  return table;
}

template <class Function>
LevelMap tabulate(const Function& function) {
  LevelMap table;
  for (int v = 0; v < kLevels; ++v)
    table[static_cast<std::size_t>(v)] = static_cast<std::uint8_t>(std::clamp(function(v), 0, 255));
  return table;
}

std::array<Histogram, Image::kChannels> histograms(const Image& image) {
  require_rgb8(image, "levels");
  std::array<Histogram, Image::kChannels> counts{};
  for (std::size_t i = 0; i < image.pixels.size(); i += Image::kChannels)
    for (std::size_t c = 0; c < Image::kChannels; ++c) ++counts[c][image.pixels[i + c]];
  return counts;
}

/// Applies one table per channel.
Image map_channels(const Image& image, const std::array<LevelMap, Image::kChannels>& tables) {
  require_rgb8(image, "levels");
  Image result = image;
  for (std::size_t i = 0; i < result.pixels.size(); i += Image::kChannels)
    for (std::size_t c = 0; c < Image::kChannels; ++c)
      result.pixels[i + c] = tables[c][result.pixels[i + c]];
  return result;
}

Image map_levels(const Image& image, const LevelMap& table) {
  return map_channels(image, {table, table, table});
}

template <class MakeTable>
Image map_by_histogram(const Image& image, const MakeTable& make_table) {
  std::array<LevelMap, Image::kChannels> tables;
  const auto counts = histograms(image);
  std::transform(counts.begin(), counts.end(), tables.begin(), make_table);
  return map_channels(image, tables);
}

/// int(v s - lo s), s = 255 / (hi - lo): maps the lowest and highest level to 0 and 255.
LevelMap contrast_table(const Histogram& counts) {
  const auto present = [](std::int64_t count) { return count > 0; };
  const auto lo = std::find_if(counts.begin(), counts.end(), present) - counts.begin();
  const auto hi = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), present) - 1;
  if (hi <= lo) return identity();
  const double scale = 255.0 / static_cast<double>(hi - lo);
  const double offset = static_cast<double>(-lo) * scale;
  return tabulate([&](int v) { return static_cast<int>(v * scale + offset); });
}

/// (step / 2 + pixels below v) / step; step = (pixels - those of the highest level) / 255.
LevelMap equal_table(const Histogram& counts) {
  std::int64_t sum = 0, highest = 0, present = 0;
  for (const std::int64_t count : counts) {
    sum += count;
    present += count > 0;
    if (count > 0) highest = count;
  }
  const std::int64_t step = (sum - highest) / 255;
  if (present <= 1 || step == 0) return identity();
  LevelMap table;
  std::int64_t below = step / 2;
  for (std::size_t v = 0; v < table.size(); ++v) {
    table[v] = static_cast<std::uint8_t>(std::min<std::int64_t>(below / step, 255));
    below += counts[v];
  }
  return table;
}

}  // namespace

Image auto_contrast(const Image& image) { return map_by_histogram(image, contrast_table); }

Image equalize(const Image& image) { return map_by_histogram(image, equal_table); }

Image invert(const Image& image) {
  return map_levels(image, tabulate([](int v) { return 255 - v; }));
}

Image posterize(const Image& image, int bits) {
  if (bits >= 8) return image;
  const int mask = bits <= 0 ? 0 : 0xFF & ~((1 << (8 - bits)) - 1);
  return map_levels(image, tabulate([mask](int v) { return v & mask; }));
}

Image solarize(const Image& image, int threshold) {
  return map_levels(image, tabulate([threshold](int v) { return v < threshold ? v : 255 - v; }));
}

Image solarize_add(const Image& image, int addend) {
  check(addend >= 0, "solarize_add: got ", addend, ", expected 0 or more");
  const int most = std::min(addend, 255);
  return map_levels(image, tabulate([most](int v) { return v < 128 ? v + most : v; }));
}

}  // namespace fovea
