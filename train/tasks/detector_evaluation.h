// Running a detector over a data set: the objects that it finds, and its loss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/figures/boxes.h"
#include "models/detection/average_precision.h"
#include "models/detector.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {

/// An object that a detector found. `where.image` is the image's index in its data set,
/// `where.category` the class, and the box is in pixels of the image as it is stored.
struct FoundObject {
  ScoredBox where;
  std::int64_t query = 0;  ///< the query that found it
};

/// COCO's evaluation counts so many detections per image.
inline constexpr std::int64_t kMaxDetections = 100;

/// The size of an image as it is stored, by its index in the data set.
using StoredSize = std::function<ImageSize(std::int64_t index)>;

/// True if all outputs of all layers are finite.
[[nodiscard]] bool is_finite(const DetectorOutput& output);

/// The detections of each image of a batch by the last layer of `output`, on any device; `indices`
/// i64 [B] is on the CPU. Best scores first; of equal ones, the lower query. With softmax every
/// query gives its most likely class (DETR); with the focal loss the `most` best pairs of query and
/// class count, each with its own sigmoid (Deformable DETR).
[[nodiscard]] std::vector<std::vector<FoundObject>> detections_of(
    const DetectorOutput& output, ClassLoss class_loss, const Tensor& indices,
    const StoredSize& size_of, std::int64_t most = kMaxDetections);

/// A batch from the loader, on the CPU, for a detector. If it has boxes, "boxes" become f64 [B, M,
/// 4], (cx, cy, w, h) relative to the image without its padding, and stay on the CPU with their
/// labels and counts, where they are matched. A mask that hides nothing is removed.
[[nodiscard]] Batch with_relative_boxes(Batch batch);
/// The boxes of such a batch in pixels of its images, coloured by class.
[[nodiscard]] std::vector<std::vector<ShownBox>> shown_boxes_of(const Batch& batch);
/// The objects of each image of such a batch.
[[nodiscard]] std::vector<Objects> objects_of(const Batch& batch);

/// The results of a pass over a data set.
struct FoundObjects {
  std::vector<FoundObject> objects;  ///< by image, best first
  /// The loss of all images as of one batch, so that it does not depend on the batches; 0 without
  /// boxes.
  double loss = 0;
  EvaluationPass pass;
};

/// Runs the detector on each image. If the images have boxes, measures the loss too.
[[nodiscard]] FoundObjects find_objects(Detector& model,
                                        const std::shared_ptr<const Dataset>& dataset,
                                        const EvaluateOptions& options, const StoredSize& size_of);

/// COCO's measures of the detections of a pass over a data set with boxes. Objects of images that
/// could not be read do not count. Throws Error unless `dataset` has boxes.
[[nodiscard]] AveragePrecision precision_of(const FoundObjects& found,
                                            const std::shared_ptr<const Dataset>& dataset);

}  // namespace fovea
