// Reading and writing of stored features.
#include "report/measures/features_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/safetensors.h"

namespace fovea {
namespace {

constexpr const char *kReference = "reference", *kSamples = "samples",
                     *kSpatialMean = "spatial_mean", *kSpatialCovariance = "spatial_covariance";

/// A score of the file; 0 if it is missing or no number.
double score(const nlohmann::json& scores, const char* key) {
  if (!scores.is_object() || !scores.contains(key) || !scores[key].is_number()) return 0;
  return scores[key].get<double>();
}

Tensor require_rows(const std::map<std::string, Tensor>& tensors) {
  const auto found = tensors.find(kReference);
  check(found != tensors.end(), "has no tensor ", kReference,
        ", expected a file of measure --save-features");
  const Tensor& rows = found->second;
  check(rows.rank() == 2 && rows.dtype() == DType::f32 && rows.size(0) >= 2 && rows.size(1) >= 1,
        kReference, ": got ", to_string(rows.dtype()), " ", rows.shape(),
        ", expected f32 [N, d] of at least two pictures");
  const float* const values = rows.data<float>();
  check(std::all_of(values, values + rows.numel(), [](float x) { return std::isfinite(x); }),
        kReference, ": contains values that are not finite");
  return rows;
}

StoredFeatures read_from(const std::filesystem::path& path) {
  const SafetensorsFile file = read_safetensors(path);
  check(value_or(file.metadata, "format", "") == kFeaturesFormat,
        "is no file of features, expected one of measure --save-features");
  StoredFeatures stored;
  stored.name = value_or(file.metadata, "name", "");
  stored.origin = value_or(file.metadata, "origin", "");
  SetFeatures& set = stored.reference;
  set.rows = require_rows(file.tensors);
  set.statistics = statistics_of_rows(set.rows);
  const nlohmann::json scores = parse_json(value_or(file.metadata, "scores", ""));
  set.inception_score = score(scores, "inception_score");
  set.right = static_cast<std::int64_t>(score(scores, "right"));
  set.asked = static_cast<std::int64_t>(score(scores, "asked"));
  const auto mean = file.tensors.find(kSpatialMean),
             covariance = file.tensors.find(kSpatialCovariance);
  if (mean == file.tensors.end() || covariance == file.tensors.end()) return stored;
  const std::int64_t d = mean->second.numel();
  check(covariance->second.shape() == Shape({d, d}), kSpatialCovariance, ": got shape ",
        covariance->second.shape(), ", expected ", Shape({d, d}));
  set.spatial.emplace();
  set.spatial->count = set.count();
  set.spatial->mean = mean->second.to(DType::f64);
  set.spatial->covariance = covariance->second.to(DType::f64);
  return stored;
}

}  // namespace

void write_features(const std::filesystem::path& path, const StoredFeatures& features) {
  const SetFeatures& set = features.reference;
  std::map<std::string, Tensor> tensors{{kReference, set.rows}};
  if (features.samples.defined()) tensors[kSamples] = features.samples;
  if (set.spatial) {
    tensors[kSpatialMean] = set.spatial->mean;
    tensors[kSpatialCovariance] = set.spatial->covariance;
  }
  const nlohmann::json scores{
      {"inception_score", set.inception_score}, {"right", set.right}, {"asked", set.asked}};
  write_safetensors(path, tensors,
                    {{"format", kFeaturesFormat},
                     {"name", features.name},
                     {"origin", features.origin},
                     {"scores", json_text(scores)}});
}

StoredFeatures read_features_file(const std::filesystem::path& path) {
  return with_context(path.string(), [&] { return read_from(path); });
}

}  // namespace fovea
