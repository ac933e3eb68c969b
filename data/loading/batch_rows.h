// The rows of a batch while it is made: images of one size or padded, boxes, dense maps.
#pragma once

#include <cstdint>
#include <vector>

#include "data/loading/batch.h"
#include "data/sample.h"

namespace fovea {

/// Members of the batch apart from images, labels and indices:
///   where images are padded  mask        f32 [B, H, W], 1 on the image, 0 on what was added
///   where samples have boxes boxes       f32 [B, M, 4], x0 y0 x1 y1 in pixels
///                            box_labels  i64 [B, M]
///                            box_count   i64 [B]
///   for each dense map       its name    f32 [B, C, H, W], values as they are
/// M is the most boxes of an image, at least 1; rows that are not counted are 0 with label -1. Maps
/// are padded with their value `outside`.
class BatchRows {
 public:
  /// At most `most` rows. `pad_multiple` as in RowOptions.
  BatchRows(std::int64_t most, std::int64_t pad_multiple);

  /// Adds a row for the sample, whose targets are moved from. The result is where the values of its
  /// image go, f32 [C, H, W]. Throws where images may not differ in size and do.
  float* add(Sample& sample, std::int64_t index);
  /// What was added. Throws where samples have different targets.
  [[nodiscard]] Batch take();

 private:
  struct Row {
    ImageSize size;
    std::int64_t label = 0, index = 0;
    ImageTargets targets;
    std::vector<float> values;  ///< of an image that may be padded
  };

  [[nodiscard]] float* add_in_place(const Sample& sample);
  [[nodiscard]] Tensor padded_images() const;
  [[nodiscard]] Tensor mask() const;
  void add_boxes(Batch& batch) const;
  [[nodiscard]] Tensor dense(std::size_t map) const;
  [[nodiscard]] std::int64_t count() const { return std::ssize(rows_); }

  std::int64_t most_, pad_multiple_;
  std::int64_t channels_ = 0;
  ImageSize size_;  ///< of the batch's images
  Tensor images_;   ///< where they have one size
  std::vector<Row> rows_;
};

}  // namespace fovea
