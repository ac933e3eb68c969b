// Feature extractors: a trained classifier, or Inception-v3 by a protocol.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/geometry/evaluation_transform.h"
#include "data/pipeline.h"
#include "engine/base/names.h"
#include "models/classifier.h"
#include "models/inception.h"

namespace fovea {

/// Preprocessing for Inception-v3, as in the package of that name. Only numbers by the same
/// protocol are comparable.
enum class FidProtocol {
  pytorch_fid,  ///< bilinear without antialiasing, then 2 x / 255 - 1
  clean_fid,    ///< Pillow's bicubic in f32, clipped to 0 .. 255, not rounded; (x - 128) / 128
};
template <>
inline constexpr auto kNames<FidProtocol> = std::to_array<Named<FidProtocol>>(
    {{FidProtocol::pytorch_fid, "pytorch-fid"}, {FidProtocol::clean_fid, "clean-fid"}});

/// Conditions of a measurement, for tables and files.
struct SpaceInfo {
  std::string distance;           ///< "FID", or "FD(run)" for the features of a run
  std::string spatial_distance;   ///< "sFID"; empty: the network has no spatial features
  std::string network, weights;   ///< name of the network, path of its weights
  std::string protocol;           ///< preprocessing of the pictures
  bool predicts_classes = false;  ///< whether its classes are those of the samples
};

class FeatureSpace {
 public:
  /// One row per image, f32 on the CPU.
  struct Output {
    Tensor features, spatial, logits;  ///< `spatial` may be undefined
  };
  virtual ~FeatureSpace() = default;
  [[nodiscard]] virtual Pipeline pipeline() const = 0;
  /// `images` come from the pipeline, on the CPU.
  [[nodiscard]] virtual Output operator()(const Tensor& images) = 0;
  [[nodiscard]] const SpaceInfo& info() const { return info_; }

 protected:
  explicit FeatureSpace(SpaceInfo info) : info_(std::move(info)) {}

 private:
  SpaceInfo info_;
};

/// The pooled input of the classifier's head (of both heads of a distilled DeiT). The model must
/// outlive the space. `name` is the run's.
[[nodiscard]] std::unique_ptr<FeatureSpace> classifier_space(Classifier& model,
                                                             const EvaluationTransform& preparation,
                                                             const std::string& name,
                                                             const std::filesystem::path& weights);
[[nodiscard]] std::unique_ptr<FeatureSpace> inception_space(const std::filesystem::path& weights,
                                                            FidProtocol protocol, Device device);

/// A picture preprocessed by a protocol: f32, 299 x 299.
[[nodiscard]] Image inception_input(const Image& picture, FidProtocol protocol);

}  // namespace fovea
