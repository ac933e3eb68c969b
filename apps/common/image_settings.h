// Flags that replace a checkpoint's preparation of images.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/fields.h"
#include "train/run/weights_info.h"

namespace fovea {

/// Normalisation, crop and orientation; what is empty stays as in the checkpoint.
struct ImageSettings {
  std::vector<double> mean, std;  ///< per colour channel
  std::optional<double> crop_pct;
  std::string crop_mode, interpolation, exif_orientation;

  void apply(WeightsInfo& info) const;
};

/// Adds the fields of normalisation and crop.
void add_fields(Fields& fields, ImageSettings& settings);
/// For programs that read picture files.
void add_orientation_field(Fields& fields, ImageSettings& settings);

}  // namespace fovea
