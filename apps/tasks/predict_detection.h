// Objects in picture files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/common/loading.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea {

/// An object in a picture.
struct PictureObject {
  std::int64_t index = 0;  ///< class index, or the id that training's annotation files have for it
  std::string name;        ///< class name
  double score = 0;
  double x = 0, y = 0, width = 0, height = 0;  ///< in pixels of the picture
};

/// The objects found in one picture, best first, or the reason for their absence.
struct PictureObjects {
  std::string file;
  std::vector<PictureObject> objects;
  std::string error{};
};

struct ObjectOptions {
  double threshold = 0.5;               ///< minimum score of a shown object
  std::filesystem::path drawn{};        ///< folder for the pictures with boxes; empty: none
  std::filesystem::path json{};         ///< file for COCO's results of all scores; empty: none
  std::filesystem::path annotations{};  ///< a file of COCO's with the pictures' ids; empty: none
  EvaluateOptions run{};                ///< batch size, workers, precision, preprocessing
};

/// Finds objects in picture files. Writes the files that the options name and reports their paths
/// in `written`. COCO's image ids are those of the annotations; without, the files' names if all
/// are different numbers, otherwise 1, 2, ... in the order of the files.
[[nodiscard]] std::vector<PictureObjects> find_in_pictures(
    const LoadedModel& trained, const std::vector<std::filesystem::path>& files,
    const ObjectOptions& options, std::vector<std::filesystem::path>& written);

/// Formats objects as "text", "csv" or "json"; throws on any other name.
/// CSV: file,index,class,score,x,y,width,height, one row per object.
/// JSON: {"checkpoint": ..., "pictures": [{"file", "objects": [{"index", "name", "score",
/// "box": [x, y, width, height]}]}, {"file", "error"}]}.
[[nodiscard]] std::string format_objects(const std::vector<PictureObjects>& pictures,
                                         const std::string& format, const std::string& checkpoint);

}  // namespace fovea
