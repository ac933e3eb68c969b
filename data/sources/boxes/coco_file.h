// Annotation files in COCO's format: JSON with images, annotations and categories.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/sources/boxes/detection_set.h"
#include "engine/base/files.h"

namespace fovea {

struct CocoImage {
  std::int64_t id = 0;
  ImageSize size{};
  std::string file_name{};
};

struct CocoCategory {
  std::int64_t id = 0;
  std::string name{};
};

/// An annotation with the id of its image.
struct CocoAnnotation {
  std::int64_t image_id = 0;
  Annotation object{};
};

/// The lists of a file, in its order. The fields of each entry are present and of the right type;
/// ids that refer to other entries are not checked.
struct CocoLists {
  std::vector<CocoImage> images{};
  std::vector<CocoAnnotation> annotations{};
  std::vector<CocoCategory> categories{};
};

/// Larger category ids are refused.
inline constexpr std::int64_t kMaxCategoryId = 2'147'483'647;

/// Reads the lists by events: of the file only a block is in memory, of the lists only what is
/// named here; other members, such as segmentations, are skipped. `area` and `iscrowd` may be
/// missing. Throws Error, starting with `name`, and saying which entry is wrong.
[[nodiscard]] CocoLists parse_coco_lists(const ByteSource& bytes, const std::string& name);

/// The objects of all images, found by image.
class CocoFile {
 public:
  /// Throws Error, starting with `name`, on ids that occur twice or do not exist.
  CocoFile(CocoLists lists, const std::string& name);

  [[nodiscard]] const std::vector<CocoImage>& images() const { return images_; }  ///< by id
  [[nodiscard]] const std::vector<CocoCategory>& categories() const {
    return categories_;
  }  ///< by id
  /// The objects of images()[index], in the order of the file.
  [[nodiscard]] std::span<const Annotation> objects(std::int64_t index) const;

 private:
  std::vector<CocoImage> images_;
  std::vector<CocoCategory> categories_;
  std::vector<Annotation> objects_;  ///< one image after the other
  std::vector<std::int64_t> first_;  ///< of each image, and the number of all objects
};

[[nodiscard]] CocoFile read_coco_file(const std::filesystem::path& path);

}  // namespace fovea
