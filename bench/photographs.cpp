// Enlarging or shrinking the photographs that there are.
#include "bench/photographs.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "data/pack.h"
#include "data/resize.h"
#include "engine/check.h"
#include "engine/files.h"

namespace fovea::bench {
namespace {

namespace fs = std::filesystem;

/// Removed when the program ends.
struct Folder {
  fs::path path;
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

ImageSize usual_size(const Image& image) {
  constexpr double side = 375;
  const double scale = side / static_cast<double>(std::min(image.height, image.width));
  constexpr std::int64_t longest = 1000;  // of strips
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

fs::path make_photographs() {
  const char* data = std::getenv("FOVEA_DATA");
  DatasetOptions options;
  options.name = "folder";
  options.index_cache = "none";
  options.data_dir = fs::path(data == nullptr ? "" : data) / "imagefolder-mini";
  if (data == nullptr || !fs::exists(options.data_dir / "train")) return {};
  std::string name = (fs::temp_directory_path() / "fovea-bench-XXXXXX").string();
  check(::mkdtemp(name.data()) != nullptr, "bench: cannot make a folder ", name);
  const fs::path folder = name;
  write_jpegs(*open_dataset(options, Split::train), folder / "jpeg/train");
  options.data_dir = folder / "jpeg";
  fs::create_directories(folder / "pack");
  PackOptions pixels;
  pixels.as_pixels = true;
  write_pack(folder / "pack/train.pack", *open_dataset(options, Split::train), pixels);
  return folder;
}

}  // namespace

fs::path photographs() {
  static const Folder folder{make_photographs()};
  return folder.path;
}

}  // namespace fovea::bench
