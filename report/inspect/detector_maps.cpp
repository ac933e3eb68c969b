// Attention maps from the taps of a detector's forward pass.
#include "report/inspect/detector_maps.h"

#include <algorithm>
#include <cmath>

#include "engine/autograd.h"
#include "engine/base/error.h"

namespace fovea {

DetectorMaps::DetectorMaps(Detector& model, const Tensor& image) {
  const NoGrad no_grad;
  Context ctx;
  ctx.tap = [this](std::string_view name, const Tensor& value) { keep(name, value); };
  output_ = model.forward(image.to(model.device()), {}, ctx);
  const auto [height, width] = model.map_size({image.size(2), image.size(3)});
  height_ = height;
  width_ = width;
}

/// Later layers replace earlier ones.
void DetectorMaps::keep(std::string_view name, const Tensor& value) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  const bool is_encoder = name.starts_with("attn/encoder/");
  const bool is_cross = name.starts_with("attn/decoder/") && name.find("/cross/") != name.npos;
  if (!is_encoder && !is_cross) return;
  taps_[(is_encoder ? "encoder/" : "cross/") + std::string(last)] =
      value.detach().to(Device{}).to(DType::f32).contiguous();
}

std::vector<double> DetectorMaps::of_cell(std::int64_t cell) const { return map("encoder", cell); }

std::vector<double> DetectorMaps::of_query(std::int64_t query) const { return map("cross", query); }

std::vector<double> DetectorMaps::map(const std::string& layer, std::int64_t row) const {
  return taps_.contains(layer + "/locations") ? sampled_map(layer, row) : softmax_map(layer, row);
}

/// Mean over the heads of softmax(q k^T / sqrt(d)).
std::vector<double> DetectorMaps::softmax_map(const std::string& layer, std::int64_t row) const {
  const auto found = taps_.find(layer + "/q");
  check(found != taps_.end(), "inspect detection: the model has no ", layer, " attention");
  const Tensor &q = found->second, &k = taps_.at(layer + "/k");  // [1, H, rows, d]
  const std::int64_t heads = q.size(1), cells = k.size(2), depth = k.size(3);
  std::vector<double> mean(static_cast<std::size_t>(cells)), weights(mean.size());
  for (std::int64_t h = 0; h < heads; ++h) {
    const float* const query = q.data<float>() + (h * q.size(2) + row) * depth;
    const float* key = k.data<float>() + h * cells * depth;
    double sum = 0;
    for (double& weight : weights) {
      weight = 0;
      for (std::int64_t i = 0; i < depth; ++i) weight += double{query[i]} * key[i];
      weight /= std::sqrt(static_cast<double>(depth));
      key += depth;
    }
    const double highest = *std::max_element(weights.begin(), weights.end());
    for (double& weight : weights) sum += weight = std::exp(weight - highest);
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += weights[i] / sum / static_cast<double>(heads);
  }
  return mean;
}

/// The weights of the sampling points, spread over the cells by which they are interpolated.
std::vector<double> DetectorMaps::sampled_map(const std::string& layer, std::int64_t row) const {
  const Tensor &locations = taps_.at(layer + "/locations"), &weights = taps_.at(layer + "/weights");
  const std::int64_t heads = weights.size(2), points = weights.size(3);
  const float* place = locations.data<float>() + row * heads * points * 2;
  const float* weight = weights.data<float>() + row * heads * points;
  std::vector<double> map(static_cast<std::size_t>(height_ * width_));
  const auto add = [&](std::int64_t y, std::int64_t x, double value) {
    if (y < 0 || y >= height_ || x < 0 || x >= width_) return;  // zeros surround the map
    map[static_cast<std::size_t>(y * width_ + x)] += value / static_cast<double>(heads);
  };
  for (std::int64_t i = 0; i < heads * points; ++i, place += 2, ++weight) {
    // Locations are fractions of the map's sides; a cell's value is at its centre.
    const double x = double{place[0]} * static_cast<double>(width_) - 0.5,
                 y = double{place[1]} * static_cast<double>(height_) - 0.5;
    const auto left = static_cast<std::int64_t>(std::floor(x)),
               top = static_cast<std::int64_t>(std::floor(y));
    const double right_share = x - std::floor(x), lower_share = y - std::floor(y);
    add(top, left, *weight * (1 - lower_share) * (1 - right_share));
    add(top, left + 1, *weight * (1 - lower_share) * right_share);
    add(top + 1, left, *weight * lower_share * (1 - right_share));
    add(top + 1, left + 1, *weight * lower_share * right_share);
  }
  return map;
}

}  // namespace fovea
