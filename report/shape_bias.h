// Whether a model goes by shape or by texture where the two disagree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/sources/category_map.h"
#include "data/sources/cue_conflict.h"
#include "engine/tensor.h"
#include "models/classifier.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

/// Of each row of logits f32 [N, K] the category with the largest mean of the softmax over its
/// classes; of equal ones the first. Throws where a category has a class that no column is of.
[[nodiscard]] std::vector<std::int64_t> decide(const Tensor& logits,
                                               const std::vector<Category>& categories);

/// What a model said to the pictures of a cue conflict.
struct CueResponses {
  EvaluationPass pass{};
  Tensor logits{};                      ///< f32 [N, K]; 0 where a picture is broken
  std::vector<std::int64_t> decisions;  ///< a category; -1 where a picture is broken
};
[[nodiscard]] CueResponses respond(Classifier& model, const CueConflict& cues,
                                   const std::vector<Category>& categories,
                                   const EvaluateOptions& options);

/// A share as tables show it, with two decimals or "-" where it is undefined; and as a cell of CSV.
[[nodiscard]] std::string shown_percent(double percent);
[[nodiscard]] std::string percent_cell(double percent);

/// Decisions for the shape and for the texture, counted by the category of the shape:
///
///     shape bias = shape / (shape + texture)        of the pictures where either was chosen
class ShapeBias {
 public:
  struct Row {
    std::string name;
    std::int64_t images = 0, shape = 0, texture = 0;
    [[nodiscard]] double bias() const;    ///< percent; NaN where neither was ever chosen
    [[nodiscard]] double either() const;  ///< percent of the images
  };

  /// Pictures without a decision (-1) are left out.
  ShapeBias(const CueConflict& cues, const std::vector<std::int64_t>& decisions);

  /// Of the categories that are the shape of a picture, in their order.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const Row& all() const { return all_; }  ///< of all pictures together
  /// Mean over the categories in which either was chosen, percent; NaN where there are none.
  [[nodiscard]] double mean_bias() const;

  /// For a terminal: a row per category, all, and the mean of the categories.
  [[nodiscard]] std::string table() const;
  /// category,images,shape,texture,either,shape_bias: the same rows; empty cells where undefined.
  [[nodiscard]] std::string csv() const;
  /// A bar per category, shape from the left, texture from the right.
  [[nodiscard]] std::string svg() const;

 private:
  std::vector<Row> rows_;
  Row all_;
};

/// image,shape,texture,decision: a row per picture, what the model decided empty where it is
/// broken.
[[nodiscard]] std::string csv_of_decisions(const CueConflict& cues,
                                           const std::vector<std::int64_t>& decisions);

}  // namespace fovea
