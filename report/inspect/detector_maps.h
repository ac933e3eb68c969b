// Attention maps of a detector's last layers: of encoder cells and of queries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/detector.h"

namespace fovea {

/// A detector's outputs for one image, and the attention of its last encoder and decoder layers.
class DetectorMaps {
 public:
  /// image [1, C, H, W], on the CPU.
  DetectorMaps(Detector& model, const Tensor& image);

  [[nodiscard]] const DetectorOutput& output() const { return output_; }
  [[nodiscard]] std::int64_t height() const { return height_; }  ///< of the backbone's map
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] bool has_encoder() const {
    return taps_.contains("encoder/q") || taps_.contains("encoder/locations");
  }

  /// Self-attention of a cell of the map in the encoder, [height, width]: the mean over the heads.
  /// Deformable attention puts each sampling point's weight on the four cells around it.
  [[nodiscard]] std::vector<double> of_cell(std::int64_t cell) const;
  /// Cross-attention of a query in the decoder, in the same form.
  [[nodiscard]] std::vector<double> of_query(std::int64_t query) const;

 private:
  void keep(std::string_view name, const Tensor& value);
  [[nodiscard]] std::vector<double> map(const std::string& layer, std::int64_t row) const;
  [[nodiscard]] std::vector<double> softmax_map(const std::string& layer, std::int64_t row) const;
  [[nodiscard]] std::vector<double> sampled_map(const std::string& layer, std::int64_t row) const;

  DetectorOutput output_;
  std::int64_t height_ = 0, width_ = 0;
  std::map<std::string, Tensor> taps_;  ///< "encoder/q", "cross/weights", ... of the last layers
};

}  // namespace fovea
