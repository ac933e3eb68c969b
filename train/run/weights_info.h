// The weights files of a run: tensors under the official implementation's names, with metadata for
// building the model and preprocessing its images.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/classes/class_match.h"
#include "data/geometry/evaluation_transform.h"
#include "data/geometry/transforms.h"
#include "data/sources/boxes/category_ids.h"
#include "data/sources/packed/latent_source.h"
#include "models/diffusion/process.h"
#include "models/model.h"
#include "train/run/held_out.h"
#include "train/run/pending_file.h"

namespace fovea {

/// Metadata that `evaluate` and `predict` need besides the weights.
struct WeightsInfo {
  std::string dataset;
  std::vector<std::string> classes;   ///< class names; empty: unknown
  CategoryIds categories{};           ///< of a detector: the ids of its training's annotation files
  std::vector<std::string> labels{};  ///< label names, from a hub with class descriptions
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};
  ExifOrientation exif_orientation = ExifOrientation::ignore;
  std::optional<LatentSource> latents{};    ///< of the training data; empty: pictures
  std::optional<ProcessOptions> process{};  ///< of a diffusion model: schedule and steps
  std::optional<HeldOut> held_out{};        ///< empty: its validation images were others
  std::int64_t epoch = -1;
  std::map<std::string, double> scores{};  ///< held-out scores by metric name
};

/// The file for `values`, by official name: the model's own weights or averages.
[[nodiscard]] PendingFile weights_file(const std::filesystem::path& path, const Model& model,
                                       const std::map<std::string, Tensor>& values,
                                       const WeightsInfo& info);
/// Reads the metadata written by weights_file(). For files from elsewhere, uses timm's config.json
/// in the folder of `path`, or ImageNet's defaults if there is none.
[[nodiscard]] WeightsInfo weights_info(const Metadata& metadata, const std::filesystem::path& path);
[[nodiscard]] WeightsInfo read_weights_info(const std::filesystem::path& path);

/// The class names in the metadata. `count` is the size of the head, used if there are no names.
[[nodiscard]] ModelClasses learned_classes(const WeightsInfo& info, std::int64_t count);
/// A notice that the weights of `path` were trained with a mean and std other than `own`, the run's
/// settings. "" if they are equal, or if neither the metadata nor a config.json records them.
[[nodiscard]] std::string other_colors(const Metadata& metadata, const std::filesystem::path& path,
                                       const Normalization& own);

}  // namespace fovea
