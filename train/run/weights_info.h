// The weights files of a run: official names only, and in their metadata how to build the model and
// how to prepare an image for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/class_match.h"
#include "data/evaluation_transform.h"
#include "data/transforms.h"
#include "models/model.h"
#include "train/run/pending_file.h"

namespace fovea {

/// What `evaluate` and `predict` need to know beside the weights.
struct WeightsInfo {
  std::string dataset;
  std::vector<std::string> classes;   ///< what they are called; empty: the file does not say
  std::vector<std::string> labels{};  ///< of a hub that describes its classes: their label names
  Normalization normalization = kCifarNormalization;
  EvaluationCrop crop{};
  std::int64_t epoch = -1;
  std::map<std::string, double> scores{};  ///< held out, by the measures' names
};

/// `values` by official names: the model's own or averages.
[[nodiscard]] PendingFile weights_file(const std::filesystem::path& path, const Model& model,
                                       const std::map<std::string, Tensor>& values,
                                       const WeightsInfo& info);
/// What weights_file() noted in a file's metadata; of files of another origin what timm's
/// config.json beside `path` says, and ImageNet's usual values where there is none.
[[nodiscard]] WeightsInfo weights_info(const Metadata& metadata, const std::filesystem::path& path);
[[nodiscard]] WeightsInfo read_weights_info(const std::filesystem::path& path);

/// What the weights of a head of `count` classes call them.
[[nodiscard]] ModelClasses learned_classes(const WeightsInfo& info, std::int64_t count);
/// That the weights of `path` expect other colours than `own`, which are settings of the run; ""
/// where they expect these, or nothing says which.
[[nodiscard]] std::string other_colors(const Metadata& metadata, const std::filesystem::path& path,
                                       const Normalization& own);

}  // namespace fovea
