// Shape bias: whether a model follows shape or texture when the two cues conflict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/classes/category_map.h"
#include "data/sources/files/cue_conflict.h"
#include "engine/tensor.h"
#include "models/classifier.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

/// For each row of logits f32 [N, K], the category with the largest mean softmax over its classes;
/// the first wins ties. Throws if a category has a class without a column.
[[nodiscard]] std::vector<std::int64_t> decide(const Tensor& logits,
                                               const std::vector<Category>& categories);

/// A model's responses to cue conflict pictures.
struct CueResponses {
  EvaluationPass pass{};
  Tensor logits{};                      ///< f32 [N, K]; 0 for a broken picture
  std::vector<std::int64_t> decisions;  ///< category indices; -1 for a broken picture
};
[[nodiscard]] CueResponses respond(Classifier& model, const CueConflict& cues,
                                   const std::vector<Category>& categories,
                                   const EvaluateOptions& options);

/// A percentage for tables, with two decimals, or "-" if undefined; and as a CSV cell.
[[nodiscard]] std::string shown_percent(double percent);
[[nodiscard]] std::string percent_cell(double percent);

/// Decisions for shape and for texture, counted by the category of the shape:
///
///     shape bias = shape / (shape + texture)        over the pictures with either decision
class ShapeBias {
 public:
  struct CategoryRow {
    std::string name;
    std::int64_t images = 0, shape = 0, texture = 0;
    [[nodiscard]] double bias() const;    ///< percent; NaN if neither was chosen
    [[nodiscard]] double either() const;  ///< percent of the images
  };

  /// Pictures without a decision (-1) are excluded.
  ShapeBias(const CueConflict& cues, const std::vector<std::int64_t>& decisions);

  /// The categories that occur as a picture's shape, in their order.
  [[nodiscard]] const std::vector<CategoryRow>& rows() const { return rows_; }
  [[nodiscard]] const CategoryRow& all() const { return all_; }  ///< all pictures together
  /// Mean over the categories with either decision, in percent; NaN if there are none.
  [[nodiscard]] double mean_bias() const;

  /// For a terminal: one row per category, all pictures, and the mean over categories.
  [[nodiscard]] std::string table() const;
  /// CSV category,images,shape,texture,either,shape_bias with the same rows; undefined cells are
  /// empty.
  [[nodiscard]] std::string csv() const;
  /// Chart with one bar per category, shape from the left, texture from the right.
  [[nodiscard]] std::string svg() const;

 private:
  std::vector<CategoryRow> rows_;
  CategoryRow all_;
};

/// image,shape,texture,decision: one row per picture; the decision is empty for a broken picture.
[[nodiscard]] std::string csv_of_decisions(const CueConflict& cues,
                                           const std::vector<std::int64_t>& decisions);

}  // namespace fovea
