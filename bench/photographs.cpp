// Generates benchmark photographs by resizing existing ones.
#include "bench/photographs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "data/geometry/resize.h"
#include "data/sources/packed/pack.h"
#include "engine/base/files.h"
#include "engine/base/temporary_folder.h"

namespace fovea::bench {
namespace {

namespace fs = std::filesystem;

ImageSize usual_size(const Image& image) {
  constexpr double side = 375;
  const double scale = side / static_cast<double>(std::min(image.height, image.width));
  constexpr std::int64_t longest = 1000;  // maximum length of strips
  return {std::min<std::int64_t>(longest, std::llround(static_cast<double>(image.height) * scale)),
          std::min<std::int64_t>(longest, std::llround(static_cast<double>(image.width) * scale))};
}

void write_jpegs(const Dataset& from, const fs::path& folder) {
  JpegOptions jpeg;
  jpeg.quality = 92;
  for (std::int64_t i = 0; i < from.size(); ++i) {
    const Sample sample = from.get(i);
    const fs::path place = folder / from.class_names()[static_cast<std::size_t>(sample.label)];
    fs::create_directories(place);
    write_file_atomically(place / (std::to_string(i) + ".jpg"),
                          encode_jpeg(resize(sample.image, usual_size(sample.image)), jpeg));
  }
}

std::optional<fs::path> find_photographs() {
  const char* data = std::getenv("FOVEA_DATA");
  if (data == nullptr) return {};
  const fs::path folder = fs::path(data) / "imagefolder-mini";
  return fs::exists(folder / "train") ? std::optional(folder) : std::nullopt;
}

void make_photographs(const fs::path& from, const fs::path& folder) {
  DatasetOptions options;
  options.name = "folder";
  options.index_cache = "none";
  options.data_dir = from;
  write_jpegs(*open_dataset(options, Split::train), folder / "jpeg/train");
  options.data_dir = folder / "jpeg";
  fs::create_directories(folder / "pack");
  PackOptions pixels;
  pixels.as_pixels = true;
  write_pack(folder / "pack/train.pack", *open_dataset(options, Split::train), pixels);
}

}  // namespace

fs::path photographs() {
  const std::optional<fs::path> found = find_photographs();
  if (!found) return {};
  struct Photographs : TemporaryFolder {
    explicit Photographs(const fs::path& from) { make_photographs(from, path()); }
  };
  static const Photographs made(*found);  // removed when the program ends
  return made.path();
}

}  // namespace fovea::bench
