// A trained model, found and loaded for `evaluate`, `predict` and `inspect`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "data/class_match.h"
#include "data/dataset.h"
#include "data/evaluation_transform.h"
#include "models/model.h"
#include "settings/position_tables.h"
#include "train/run/weights_info.h"

namespace fovea {

struct LoadRequest {
  /// A run directory, a folder as on a hub or a weights file; empty: the newest run.
  std::string checkpoint;
  std::string model;        ///< registry name, for files that do not say what they are
  std::string weights_key;  ///< of a file of torch.save: see read_weights()
  std::string img_size;     ///< N or HxW; empty: as trained
  PositionTableOptions positions;
  std::string model_args;  ///< more settings of the model, a JSON object; empty: as trained
  std::string device = "cpu";
  std::int64_t num_classes = 0;  ///< of a file that names no classes
  // How images are shown to it; empty or none: as the checkpoint says.
  std::vector<double> mean, std;
  std::optional<double> crop_pct;
  std::string crop_mode, interpolation;
  bool key_is_shared = false;  ///< the weights_key, by several checkpoints
  bool last = false;           ///< last instead of best
  bool use_ema = false;        ///< the averaged weights
};

struct LoadedModel {
  std::unique_ptr<Model> model;
  WeightsInfo info;  ///< with what the request says about images
  std::filesystem::path weights;
  bool names_classes = true;  ///< false: info.classes are "class 0" and so on, for want of names
  DatasetOptions data;        ///< where the images of the run that made them lie
  std::vector<std::string> notices;  ///< what its user should be told

  /// What pictures and tables call it: the run's name and which weights of it, or the file's name.
  [[nodiscard]] std::string title() const;
  /// What it calls its classes, for matching them with others.
  [[nodiscard]] ModelClasses classes() const;
  /// How images are prepared for it.
  [[nodiscard]] EvaluationTransform preparation() const;
};

/// Throws Error that says what was looked for.
[[nodiscard]] LoadedModel load_trained(const LoadRequest& request);

/// What the request says about the model beside its name: a JSON object of its configuration's
/// keys.
[[nodiscard]] std::string model_settings(const LoadRequest& request);

/// Throws where the model has no classes to choose among.
void require_classes(const LoadedModel& loaded);

/// Puts what the request says about colours and crop over what `info` holds.
void override_images(WeightsInfo& info, const LoadRequest& request);

/// The settings of a LoadRequest, all but the checkpoint itself.
void add_load_fields(Fields& fields, LoadRequest& request);

}  // namespace fovea
