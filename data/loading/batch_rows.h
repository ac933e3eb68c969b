// The rows of a batch under construction: images of one size or padded, boxes, dense maps.
#pragma once

#include <cstdint>
#include <vector>

#include "data/loading/batch.h"
#include "data/sample.h"

namespace fovea {

/// Members of the batch other than images, labels and indices:
///   with padded images   mask        f32 [B, H, W], 1 on the image, 0 on the padding
///   with boxes           boxes       f32 [B, M, 4], x0 y0 x1 y1 in pixels
///                        box_labels  i64 [B, M]
///                        box_count   i64 [B]
///   for each dense map   its name    f32 [B, C, H, W], unscaled values
/// M is the largest number of boxes of an image, at least 1; unused rows are 0 with label -1. Maps
/// are padded with their value `outside`.
class BatchRows {
 public:
  /// At most `most` rows. `pad_multiple` is as in RowOptions.
  BatchRows(std::int64_t most, std::int64_t pad_multiple);

  /// Adds a row for the sample and moves its targets out. Returns the memory for its image values,
  /// f32 [C, H, W]. Throws when image sizes differ although they must not.
  float* add(Sample& sample, std::int64_t index);
  /// The finished batch. Throws when the samples have different kinds of targets.
  [[nodiscard]] Batch take();

 private:
  struct BufferedRow {
    ImageSize size;
    std::int64_t label = 0, index = 0;
    ImageTargets targets;
    std::vector<float> values;  ///< values of an image that may need padding
  };

  [[nodiscard]] float* add_in_place(const Sample& sample);
  [[nodiscard]] Tensor padded_images() const;
  [[nodiscard]] Tensor mask() const;
  void add_boxes(Batch& batch) const;
  [[nodiscard]] Tensor dense(std::size_t map) const;
  [[nodiscard]] std::int64_t count() const { return std::ssize(rows_); }

  std::int64_t most_, pad_multiple_;
  std::int64_t channels_ = 0;
  ImageSize size_;  ///< common size of the images
  Tensor images_;   ///< if all images have one size
  std::vector<BufferedRow> rows_;
};

}  // namespace fovea
