// Settings of `evaluate`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/loading.h"
#include "data/dataset.h"
#include "engine/base/fields.h"
#include "engine/comm/communicator.h"
#include "engine/formats/safetensors.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {

struct EvaluateRequest {
  std::vector<std::string> checkpoints;
  LoadRequest load;
  DatasetOptions data{.name = ""};     ///< without a name: the one that the model was trained on
  std::optional<double> val_fraction;  ///< empty: as in the run
  std::optional<double> depth_scale;   ///< empty: as in the run
  std::string split = "val", data_dir, class_map, output, csv, json, logits, shape_bias;
  std::string precision = "f32", on_bad_image = "stop";
  std::string protocol;  ///< of depth models, see parse_protocols(); empty: the usual one
  bool graph = true;     ///< see EvaluateOptions::graph
  std::int64_t batch_size = 128, workers = 2, threads = 0;
  /// They share the images; the first one writes files.
  Communicator* processes = &single_process();

  /// The comma-separated values of --img-size; "" is the model's own size.
  [[nodiscard]] std::vector<std::string> sizes() const;
  /// True for one checkpoint at one size.
  [[nodiscard]] bool is_single() const { return checkpoints.size() * sizes().size() == 1; }
  /// Whether a file is to be written into --output or below it, and so its folder to be created.
  [[nodiscard]] bool is_in_output(const std::string& file) const;
  /// The task of the first checkpoint.
  [[nodiscard]] TaskKind task() const;
  /// Opens the images of the split, from the given data set or the checkpoint's own, matched with
  /// the checkpoint's class names.
  [[nodiscard]] MatchedImages open_images(const LoadedModel& trained) const;
  /// Whether flags choose the validation images: their split, labels or annotations.
  [[nodiscard]] bool names_split() const;
  /// A note if these images should be those that the checkpoint's run validated on, but are not; ""
  /// if they are, or need not be.
  [[nodiscard]] std::string other_images_note(const LoadedModel& trained,
                                              const Dataset& images) const;
  /// Metadata that identifies the images of a logits file; `shown` are those of open_images().
  [[nodiscard]] Metadata logits_metadata(const LoadedModel& trained,
                                         const MatchedImages& shown) const;
  [[nodiscard]] ClassifierOptions options(const LoadedModel& trained) const;
  /// The data set to evaluate on: the given one or the checkpoint's own. Throws if both are
  /// unknown.
  [[nodiscard]] DatasetOptions images_of(const LoadedModel& trained) const;
  /// Its name in tables.
  [[nodiscard]] std::string dataset_title(const LoadedModel& trained) const;
};

[[nodiscard]] Fields fields_of(EvaluateRequest& request);
/// Throws UsageError if settings contradict each other.
void check_request(const EvaluateRequest& request);

}  // namespace fovea
