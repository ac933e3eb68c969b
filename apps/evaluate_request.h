// What `evaluate` is asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/loading.h"
#include "base/fields.h"
#include "data/dataset.h"
#include "formats/safetensors.h"
#include "train/tasks/classifier_evaluation.h"

namespace fovea {

struct EvaluateRequest {
  std::vector<std::string> checkpoints;
  LoadRequest load;
  DatasetOptions data;
  std::optional<double> val_fraction;  ///< empty: that of the run
  std::string split = "val", data_dir, class_map, output, csv, json, logits, shape_bias;
  std::string precision = "f32", on_bad_image = "stop";
  std::int64_t batch_size = 128, workers = 2, threads = 0;

  /// Those of --img-size, as many as commas say; "" is the model's own.
  [[nodiscard]] std::vector<std::string> sizes() const;
  /// One checkpoint at one size.
  [[nodiscard]] bool is_alone() const { return checkpoints.size() * sizes().size() == 1; }
  /// The images of the split, of the data set that is named or that the checkpoint learned from,
  /// under the checkpoint's labels.
  [[nodiscard]] MatchedImages open_images(const LoadedModel& trained) const;
  /// Says of which images the file of logits is; `shown` are those of open_images().
  [[nodiscard]] Metadata logits_metadata(const LoadedModel& trained,
                                         const MatchedImages& shown) const;
  [[nodiscard]] ClassifierOptions options(const LoadedModel& trained) const;

 private:
  [[nodiscard]] DatasetOptions images_of(const LoadedModel& trained) const;
};

[[nodiscard]] Fields fields_of(EvaluateRequest& request);
/// Throws UsageError on what does not go together.
void check_request(const EvaluateRequest& request);

}  // namespace fovea
