// Settings of `predict`, and what its tasks have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/loading.h"
#include "apps/common/pictures.h"
#include "engine/base/fields.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

struct PredictRequest {
  LoadRequest load;
  std::string format = "text", output, class_map, precision = "f32";
  bool graph = true;  ///< see EvaluateOptions::graph
  std::int64_t topk = 5, batch_size = 32, workers = 2, threads = 0;
  std::optional<double> threshold{};
  std::string pictures, json, annotations;
  std::string depth_size;  ///< "model" or "picture"; empty: model

  [[nodiscard]] EvaluateOptions options(const LoadedModel& trained) const;
  /// Throws, naming the flag, if one of these files and folders cannot be written.
  void check_outputs(bool output_is_folder) const;
  /// Writes a text to --output or, by default and if that fails, to standard output.
  void write(const std::string& text) const;
};

[[nodiscard]] Fields fields_of(PredictRequest& request);

/// Renames the model's classes by a class map, if there is one; returns the source of the names.
std::string name_classes(const std::string& class_map, LoadedModel& trained);

/// Throws if there are messages about broken pictures, of `pictures` in all, after printing them.
void refuse_broken(const std::vector<std::string>& messages, std::size_t pictures);

/// Adds a prediction for each argument that matches no file, at its place among the others.
template <class Prediction>
void insert_missing(std::vector<Prediction>& predictions,
                    const std::vector<PictureList::Missing>& missing) {
  std::size_t before = 0;  // number inserted so far
  for (const auto& [path, reason, place] : missing) {
    const auto at = predictions.begin() + static_cast<std::ptrdiff_t>(place + before++);
    predictions.insert(at, {path, {}, path + ": " + reason});
  }
}

/// The messages about broken pictures.
template <class Prediction>
[[nodiscard]] std::vector<std::string> errors_of(const std::vector<Prediction>& predictions) {
  std::vector<std::string> messages;
  for (const Prediction& picture : predictions) {
    if (!picture.error.empty()) messages.push_back(picture.error);
  }
  return messages;
}

}  // namespace fovea
