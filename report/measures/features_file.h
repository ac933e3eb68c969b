// Features of a reference in a file, so that more samples are compared with them without another
// pass over its pictures.
//
// FORMAT: safetensors with
//   reference           f32 [N, d]
//   samples             f32 [M, d], for other programs; may be missing
//   spatial_mean        f64 [s], and
//   spatial_covariance  f64 [s, s]: statistics of spatial features; may be missing
// and in the metadata: format (kFeaturesFormat), name (of the reference), origin (a JSON object as
// in FeatureStatistics), and what else SetFeatures has, as JSON in `scores`.
#pragma once

#include <filesystem>
#include <string>

#include "report/measures/feature_pass.h"

namespace fovea {

inline constexpr const char* kFeaturesFormat = "fovea-features-1";

/// The reference of a measurement, and optionally the samples' features [M, d].
struct StoredFeatures {
  std::string name;    ///< of the reference
  std::string origin;  ///< network and protocol, JSON
  SetFeatures reference{};
  Tensor samples{};  ///< undefined: none; not read back
};

void write_features(const std::filesystem::path& path, const StoredFeatures& features);
/// Throws Error, starting with the path, on anything else.
[[nodiscard]] StoredFeatures read_features_file(const std::filesystem::path& path);

}  // namespace fovea
