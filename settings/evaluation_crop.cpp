// Names of modes and filters; the options that they make up.
#include "settings/evaluation_crop.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"

namespace fovea {

EvaluationOptions evaluation_options(ImageSize size, const Normalization& colors,
                                     const EvaluationCrop& crop) {
  EvaluationOptions options;
  options.size = size;
  options.normalization = colors;
  options.crop_pct = crop.crop_pct;
  options.crop_mode = crop.mode;
  options.filter = crop.filter;
  return options;
}

const std::vector<std::string>& crop_mode_names() {
  static const std::vector<std::string> names{"automatic", "center", "squash", "border"};
  return names;
}

CropMode parse_crop_mode(std::string_view name) {
  const std::vector<std::string>& names = crop_mode_names();
  const auto found = std::find(names.begin(), names.end(), name);
  check(found != names.end(), "crop mode: got \"", name, "\", did you mean \"",
        nearest_name(name, names), "\"?");
  return static_cast<CropMode>(found - names.begin());
}

std::string name_of(CropMode mode) { return crop_mode_names()[static_cast<std::size_t>(mode)]; }

std::string name_of(Filter filter) {
  for (const char* name : {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}) {
    if (parse_filter(name) == filter) return name;
  }
  fail("filter: got ", static_cast<int>(filter), ", expected one of the enumeration");
}

}  // namespace fovea
