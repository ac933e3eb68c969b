// Files of latents: the moments that a VAE's encoder gives for each image, with labels.
//
// FORMAT: safetensors with
//   moments          f32 [N, 2C, h, w]: C means, then C log-variances
//   moments_flipped  the same of the mirrored images; may be missing
//   labels           i64 [N]
// and in the metadata: format (kLatentFormat), classes (a JSON list of names), the keys of
// data/sources/packed/latent_source.h, and what else LatentInfo::others has. LatentWriter writes
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/image.h"
#include "data/sources/packed/latent_source.h"
#include "engine/base/files.h"
#include "engine/tensor.h"

namespace fovea {

inline constexpr const char* kLatentFormat = "fovea-latents-1";
/// The tensors.
inline constexpr const char *kMoments = "moments", *kFlippedMoments = "moments_flipped",
                            *kLatentLabels = "labels";

/// All of a file but its numbers.
struct LatentInfo {
  LatentSource source{};
  std::int64_t channels = 4;  ///< of a latent; an image has twice as many moments
  ImageSize size{};           ///< of a latent
  bool has_flipped = true;
  std::vector<std::string> classes{};
  Metadata others{};  ///< more metadata of a file to write; not read back

  /// Moments of an image, without those of the mirrored one.
  [[nodiscard]] std::int64_t moments() const { return 2 * channels * size.height * size.width; }
};

/// Reads a file image by image.
class LatentFile {
 public:
  /// Reads header and labels. Throws Error on anything else than a file of latents.
  explicit LatentFile(const std::filesystem::path& path);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const LatentInfo& info() const { return info_; }
  [[nodiscard]] std::int64_t size() const { return std::ssize(labels_); }
  [[nodiscard]] std::int64_t label(std::int64_t index) const { return labels_[index]; }
  /// Reads the moments of an image into info().moments() values [2C, h, w].
  void read(std::int64_t index, bool flipped, std::span<float> into) const;

 private:
  std::string name_;
  InputFile file_;
  LatentInfo info_;
  std::vector<std::int64_t> labels_;
  std::uint64_t moments_ = 0, flipped_ = 0;  ///< offsets in the file
};

}  // namespace fovea
