// Normalisation and crop from flags.
#include "apps/common/image_settings.h"

#include "engine/base/names.h"

namespace fovea {

void ImageSettings::apply(WeightsInfo& info) const {
  for (std::size_t c = 0; c < mean.size(); ++c) {
    info.normalization.mean[c] = static_cast<float>(mean[c]);
  }
  for (std::size_t c = 0; c < std.size(); ++c) {
    info.normalization.deviation[c] = static_cast<float>(std[c]);
  }
  if (crop_pct) info.crop.crop_pct = *crop_pct;
  if (!crop_mode.empty()) {
    info.crop.mode = parse_name<CropMode>("--crop-mode", crop_mode);
  }
  if (!interpolation.empty()) {
    info.crop.filter = parse_name<Filter>("--interpolation", interpolation);
  }
  if (!exif_orientation.empty()) {
    info.exif_orientation = parse_name<ExifOrientation>("--exif-orientation", exif_orientation);
  }
}

void add_fields(Fields& fields, ImageSettings& s) {
  FieldGroup images(fields, "Images");
  images.number("mean", &s.mean, "mean per colour channel (default: the checkpoint's)", {-100, 100})
      .count = 3;
  images.number("std", &s.std, "std per colour channel (default: the checkpoint's)", {1e-6, 100})
      .count = 3;
  images.number("crop-pct", &s.crop_pct,
                "fraction of the shorter side that the crop keeps (default: the checkpoint's)",
                {1e-3, 1});
  images.choice("crop-mode", &s.crop_mode,
                "how to crop; automatic: center, but stretch tiny images", names_of<CropMode>());
  images.choice("interpolation", &s.interpolation, "filter for resizing", names_of<Filter>());
}

void add_orientation_field(Fields& fields, ImageSettings& s) {
  FieldGroup images(fields, "Images");
  images.choice(
      "exif-orientation", &s.exif_orientation,
      "pictures that their EXIF data turn: ignore: as stored, apply: turned (default: the "
      "checkpoint's)",
      names_of<ExifOrientation>());
}

}  // namespace fovea
