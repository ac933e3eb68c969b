// The images of a detector, and what it found on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/common/loading.h"
#include "data/sources/boxes/detection_set.h"
#include "train/tasks/detector_evaluation.h"

namespace fovea {

/// Opens the images of a split, "val" or "train", for a trained detector. Throws if they have no
/// boxes, or other classes than the detector, naming both numbers.
[[nodiscard]] std::shared_ptr<const DetectionSet> open_detection_set(const DatasetOptions& options,
                                                                     const std::string& split,
                                                                     const LoadedModel& trained);

/// Objects on the images of a data set as COCO's results, JSON text.
[[nodiscard]] std::string coco_results(const std::vector<FoundObject>& objects,
                                       const DetectionSet& images);

}  // namespace fovea
