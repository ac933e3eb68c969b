// The pictures of an analysis: files, or the test images of a data set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/tensor.h"
#include "models/model.h"

namespace fovea {

struct ImageRequest {
  std::filesystem::path path{};  ///< a picture or a folder of pictures; empty: the data set
  DatasetOptions dataset{};
  std::int64_t count = 0;  ///< maximum number; 0: all
};

class InspectImages {
 public:
  /// Throws if there is no picture, or if the model does not take colour images. The model's
  /// image size replaces that of `transform`.
  InspectImages(const ImageRequest& request, const ModelInfo& model, EvaluationTransform transform);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(names_.size()); }
  /// The file name, or "test image 3, ship".
  [[nodiscard]] const std::string& name(std::int64_t index) const {
    return names_.at(static_cast<std::size_t>(index));
  }
  /// The picture as the model sees it: resized and cropped as in evaluation.
  [[nodiscard]] Image picture(std::int64_t index) const;
  /// Normalised images, [count, 3, H, W].
  [[nodiscard]] Tensor batch(std::int64_t first, std::int64_t count) const;

 private:
  std::function<Image(std::int64_t)> read_;
  std::vector<std::string> names_;
  Pipeline pipeline_;
};

}  // namespace fovea
