// Results of `evaluate --shape-bias`: one table over all checkpoints and sizes, and detailed files
// for a single one.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/image.h"
#include "report/shape_bias.h"

namespace fovea {

/// The cue conflict images to evaluate.
struct CueRequest {
  std::string images;                 ///< a folder of pictures, or "builtin" for drawn ones
  std::filesystem::path class_map{};  ///< categories; empty: each class of the model is a category
};

struct ShownCues {
  std::vector<Category> categories;
  CueConflict cues;
};
/// Without a class map, the folders with names of the model's classes are used: see find_class().
[[nodiscard]] ShownCues open_cues(const CueRequest& request, const ModelClasses& model);
/// The model's classes assigned by a class map: "cat is tabby, Egyptian cat; ...". Empty if there
/// is no map or no class names.
[[nodiscard]] std::string categories_notice(const CueRequest& request, const ModelClasses& model,
                                            const std::vector<Category>& categories);

/// The results of one checkpoint at one image size.
struct MeasuredBias {
  std::string checkpoint, model, images;  ///< path; registry name; source of the images
  std::string categories_by = "name";     ///< source of the mapping from classes to categories
  ImageSize size{};
  double crop_pct = 0.875;
  std::vector<std::string> classes{};  ///< class names of the model
  CueConflict cues;
  CueResponses responses;

  [[nodiscard]] ShapeBias bias() const { return {cues, responses.decisions}; }
};

/// Table for a terminal: checkpoint, size, images, shape, texture, either, shape bias.
[[nodiscard]] std::string bias_table(std::span<const MeasuredBias> models);
/// CSV with more columns, one row per model; percentages are numbers.
[[nodiscard]] std::string bias_csv(std::span<const MeasuredBias> models);

/// Writes shape_bias.csv and .svg by category, and shape_bias_images.csv by picture, to `folder`,
/// creating it if necessary. Returns the paths.
std::vector<std::filesystem::path> write_bias(const std::filesystem::path& folder,
                                              const MeasuredBias& model);

}  // namespace fovea
