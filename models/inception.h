// Inception-v3 in the form that measures of generated pictures use: the graph of pytorch-fid, whose
// pooling differs from torchvision's in three kinds of blocks. For evaluation only.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/formats/weights_file.h"
#include "engine/tensor.h"

namespace fovea {
namespace inception {
struct Network;
}

/// What the network computes of images [B, 3, H, W].
struct InceptionOutput {
  Tensor features;  ///< [B, 2048], the last maps' means ("pool3"), of FID
  Tensor spatial;   ///< [B, 7 h w], the first channels of Mixed_6d.branch1x1, of sFID
  Tensor logits;    ///< [B, 1008] without the bias, as for the inception score of the ADM suite
};

class Inception {
 public:
  static constexpr std::int64_t kImageSize = 299, kFeatures = 2048;

  /// Weights under the names of pytorch-fid's pt_inception-2015-12-05 file, which are
  /// torchvision's. Batch norms are folded into the convolutions. Throws Error, listing all names
  /// that are missing or of another shape; `where` starts the message.
  Inception(const TensorMap& weights, const std::string& where, TensorOptions options = {});
  ~Inception();
  Inception(Inception&& other) noexcept;

  /// Images [B, 3, H, W] with values in [-1, 1], sides of at least 75; 299 for comparable measures.
  [[nodiscard]] InceptionOutput operator()(const Tensor& images) const;

 private:
  std::unique_ptr<const inception::Network> network_;
};

/// Reads a weights file: torch.save or safetensors.
[[nodiscard]] Inception read_inception(const std::filesystem::path& path,
                                       TensorOptions options = {});

}  // namespace fovea
