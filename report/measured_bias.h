// What `evaluate --shape-bias` found out: one table over all checkpoints and sizes, and the files
// about one of them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/image.h"
#include "report/shape_bias.h"

namespace fovea {

/// What to show to a model.
struct CueRequest {
  std::string images;                 ///< a folder of pictures, or "builtin": drawn ones
  std::filesystem::path class_map{};  ///< categories; empty: each class of the model is one
};

struct ShownCues {
  std::vector<Category> categories;
  CueConflict cues;
};
/// Without a class map the folders that the model knows by name are its classes: see find_class().
[[nodiscard]] ShownCues open_cues(const CueRequest& request, const ModelClasses& model);
/// Which classes of the model a class map took: "cat is tabby, Egyptian cat; ...". Empty where
/// there is no map, or no names.
[[nodiscard]] std::string categories_notice(const CueRequest& request, const ModelClasses& model,
                                            const std::vector<Category>& categories);

/// One checkpoint at one image size.
struct MeasuredBias {
  std::string checkpoint, model, images;  ///< path; registry name; what was shown
  std::string categories_by = "name";     ///< what said which classes make one up
  ImageSize size{};
  double crop_pct = 0.875;
  std::vector<std::string> classes{};  ///< of the model
  CueConflict cues;
  CueResponses responses;

  [[nodiscard]] ShapeBias bias() const { return {cues, responses.decisions}; }
};

/// Columns for a terminal: checkpoint, size, images, shape, texture, either, shape bias.
[[nodiscard]] std::string bias_table(std::span<const MeasuredBias> models);
/// The same and more, a row per model: percentages as numbers.
[[nodiscard]] std::string bias_csv(std::span<const MeasuredBias> models);

/// shape_bias.csv and .svg, by category, and shape_bias_images.csv, picture by picture, in
/// `folder`, which is made if need be. Returns their paths.
std::vector<std::filesystem::path> write_bias(const std::filesystem::path& folder,
                                              const MeasuredBias& model);

}  // namespace fovea
