// Listing and preprocessing of pictures for analyses.
#include "report/inspect/images.h"

#include <algorithm>

#include "data/geometry/evaluation_transform.h"
#include "data/image.h"
#include "data/sources/files/folder_index.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// The file itself, or a folder's pictures sorted by name.
std::vector<fs::path> list_pictures(const fs::path& path) {
  check(fs::exists(path), path.string(), ": does not exist, expected a picture or a folder");
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files = pictures_below(path);
  check(!files.empty(), path.string(), ": contains no ", join(picture_endings(), ", "), " file");
  return files;
}

}  // namespace

InspectImages::InspectImages(const ImageRequest& request, const ModelInfo& model,
                             EvaluationTransform transform) {
  check(model.in_chans == Image::kChannels, "inspect: the model takes images of ", model.in_chans,
        " channels, but pictures have 3");
  transform.size = {model.img_size[0], model.img_size[1]};
  pipeline_ = evaluation_pipeline(transform);
  const auto at_most =
      static_cast<std::size_t>(request.count > 0 ? request.count : 1LL << 40);  // 0: all
  if (!request.path.empty()) {
    std::vector<fs::path> files = list_pictures(request.path);
    files.resize(std::min(files.size(), at_most));
    for (const fs::path& file : files) names_.push_back(file.filename().string());
    const DecodeOptions how{.orientation = request.dataset.exif_orientation};
    read_ = [files, how](std::int64_t i) {
      const fs::path& file = files.at(static_cast<std::size_t>(i));
      return decode_image(as_u8(read_file(file)), file.string(), how);
    };
    return;
  }
  DatasetOptions options = request.dataset;
  options.labelled = false;
  const std::shared_ptr<const Dataset> data = open_dataset(options, Split::test);
  const auto count = std::min(static_cast<std::size_t>(data->size()), at_most);
  for (std::size_t i = 0; i < count; ++i) {
    const Sample sample = data->get(static_cast<std::int64_t>(i));
    const std::string name = data->class_names().at(static_cast<std::size_t>(sample.label));
    const bool is_labelled = !sample.targets.boxes;  // with boxes, each object has a label
    names_.push_back("test image " + std::to_string(i) + (is_labelled ? ", " + name : ""));
  }
  read_ = [data](std::int64_t i) { return data->get(i).image; };
}

Image InspectImages::picture(std::int64_t index) const {
  Rng unused(0);  // evaluation draws no random numbers
  return pipeline_.apply({read_(index)}, unused).image;
}

Tensor InspectImages::batch(std::int64_t first, std::int64_t count) const {
  Tensor images;
  for (std::int64_t i = 0; i < count; ++i) {
    const Image image = picture(first + i);
    if (!images.defined()) images = empty({count, Image::kChannels, image.height, image.width});
    normalize(image, pipeline_.normalization,
              images.data<float>() + i * Image::kChannels * image.height * image.width);
  }
  return images;
}

}  // namespace fovea
