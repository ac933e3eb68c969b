// Finding and loading a trained model, for `evaluate`, `predict` and `inspect`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/image_settings.h"
#include "data/classes/class_match.h"
#include "data/dataset.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/base/fields.h"
#include "models/model.h"
#include "train/run/weights_info.h"
#include "train/settings/position_tables.h"

namespace fovea {

struct LoadRequest {
  /// A run directory, a folder in hub layout or a weights file; empty: the newest run.
  std::string checkpoint;
  std::string model;        ///< registry name, for files without a description of their model
  std::string weights_key;  ///< see read_checkpoint()
  std::string img_size;     ///< N or HxW; empty: as trained
  PositionTableOptions positions;
  std::string model_args;  ///< further model settings as a JSON object; empty: as trained
  std::string device = "cpu";
  std::int64_t num_classes = 0;  ///< for a file without class names
  /// Empty: the model is shown no images, so their preparation does not matter.
  std::optional<ImageSettings> images = ImageSettings{};
  bool prefers_ema = false;    ///< of a file with several sets, the averaged weights
  bool verbose = false;        ///< errors list all names of tensors
  bool key_is_shared = false;  ///< weights_key applies to several checkpoints
  bool last = false;           ///< the last weights instead of the best
  bool use_ema = false;        ///< the averaged weights
};

/// The images of a run.
struct RunData {
  DatasetOptions options;
  std::string test_list;  ///< the digest of its test images; empty if it is not known
  std::string error;      ///< why `options` cannot be read; empty if they can
  std::string note;       ///< which folder is meant; empty if it is clear
};

struct LoadedModel {
  std::unique_ptr<Model> model;
  WeightsInfo info;  ///< metadata, with the request's image settings applied
  std::filesystem::path weights;
  bool names_classes = true;         ///< false: info.classes are placeholders "class 0", ...
  RunData run;                       ///< of the weights' run
  std::vector<std::string> notices;  ///< messages for the user

  /// Title in pictures and tables: the run's name and its weights, or the file's name.
  [[nodiscard]] std::string title() const;
  /// The model's class names, for matching them with a data set's.
  [[nodiscard]] ModelClasses classes() const;
  /// Preprocessing of the model's images.
  [[nodiscard]] EvaluationTransform preparation() const;
};

/// The data set of the run that the weights belong to; empty if they belong to none.
[[nodiscard]] std::optional<RunData> data_of_run(const std::filesystem::path& weights);

/// True for a run directory with weights, a hub's, and a file with the ending of a weights file.
[[nodiscard]] bool is_checkpoint(const std::filesystem::path& path);

/// The task of the requested model, from its name or from the metadata of its file. Files without
/// metadata hold classifiers. Throws the same error as load_trained() if the file is missing.
[[nodiscard]] TaskKind task_of(const LoadRequest& request);

/// Loads the requested model. Throws Error naming a missing path and the kinds of path it accepts.
[[nodiscard]] LoadedModel load_trained(const LoadRequest& request);

/// The request's model settings as a JSON object with the configuration's keys.
[[nodiscard]] std::string model_settings(const LoadRequest& request);

/// Throws unless the model has classes and takes RGB images.
void require_classes(const LoadedModel& loaded);

/// Adds the fields about the weights, except the checkpoint itself.
void add_weights_fields(Fields& fields, LoadRequest& request);
/// The same, and those about the preparation of images.
void add_load_fields(Fields& fields, LoadRequest& request);

}  // namespace fovea
