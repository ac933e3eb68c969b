// The rows of a batch under construction: images of one size or padded, boxes, dense maps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/augment/erase.h"
#include "data/loading/batch.h"
#include "data/loading/loader_options.h"
#include "data/normalization.h"
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
  /// At most `most` rows.
  BatchRows(std::int64_t most, const RowOptions& options, const Normalization& normalization);

  /// Adds a row for the sample, whose values are normalised, then erased. Throws when image sizes
  /// differ although they must not.
  void add(Sample sample, std::int64_t index, std::vector<Erasure> erased);
  /// The finished batch. Throws when the samples have different kinds of targets.
  [[nodiscard]] Batch take();

 private:
  struct BufferedRow {
    ImageSize size;
    std::int64_t label = 0, index = 0;
    ImageTargets targets;
    std::vector<float> values{};  ///< values of an image that may need padding
    // Of a batch that may have raw pixels:
    Image image{};
    std::vector<Erasure> erased{};
  };

  void write_values(const Image& image, std::span<const Erasure> erased, float* to) const;
  [[nodiscard]] float* place_of(std::int64_t row);
  [[nodiscard]] Tensor padded_images() const;
  [[nodiscard]] bool are_raw() const;
  void add_raw(Batch& batch);
  [[nodiscard]] Tensor take_images();
  [[nodiscard]] Tensor mask() const;
  void add_boxes(Batch& batch) const;
  [[nodiscard]] Tensor dense(std::size_t map) const;
  [[nodiscard]] std::int64_t count() const { return std::ssize(rows_); }

  std::int64_t most_, pad_multiple_;
  bool keeps_images_;  ///< until take() knows whether the pixels stay raw
  Normalization normalization_;
  std::int64_t channels_ = 0;
  ImageSize size_;  ///< common size of the images
  Tensor images_;   ///< values, if all images have one size
  std::vector<BufferedRow> rows_;
};

}  // namespace fovea
