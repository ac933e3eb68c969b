// Settings of `encode`.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "engine/base/fields.h"

namespace fovea {

struct EncodeRequest {
  DatasetOptions data;
  std::string data_dir, split = "train", vae, output, crop = "adm", device = "cpu",
                        exif_orientation, precision = "f32", on_bad_image = "stop";
  std::int64_t img_size = 0, batch_size = 8, workers = 2, threads = 0;
  double scaling_factor = 0;
  bool flips = true, overwrite = false, verify_data = false;

  /// The share of the images that may be broken.
  [[nodiscard]] double bad_image_limit() const { return on_bad_image == "skip" ? 1 : 0.01; }
};

[[nodiscard]] Fields fields_of(EncodeRequest& request);
/// Throws UsageError if settings are missing, and Error if the output exists.
void check_request(const EncodeRequest& request);

}  // namespace fovea
