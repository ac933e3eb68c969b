// A trained model, found and loaded for `evaluate` and `predict`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "models/model.h"
#include "train/checkpoint.h"
#include "train/options.h"

namespace fovea {

struct LoadRequest {
  std::string checkpoint;  ///< a run directory or a weights file; empty: the newest run
  std::string model;       ///< registry name, for files that do not say what they are
  std::string img_size;    ///< N or HxW; empty: as trained
  std::string device = "cpu";
  std::int64_t num_classes = 0;  ///< of a file that names no classes
  bool last = false;             ///< last instead of best
  bool use_ema = false;          ///< the averaged weights
};

struct LoadedModel {
  std::unique_ptr<Model> model;
  WeightsInfo info;
  std::filesystem::path weights;
};

/// Throws Error that says what was looked for.
[[nodiscard]] LoadedModel load_trained(const LoadRequest& request);

/// The settings of a LoadRequest, all but the checkpoint itself.
void add_load_fields(Fields& fields, LoadRequest& request);

}  // namespace fovea
