// Settings of `measure`.
#pragma once

#include <cstdint>
#include <string>

#include "apps/common/loading.h"
#include "data/dataset.h"
#include "engine/base/fields.h"
#include "report/measures/feature_space.h"

namespace fovea {

struct MeasureRequest {
  std::string samples, reference;
  std::string real;       ///< a second set of real pictures
  std::string inception;  ///< weights of Inception-v3
  FidProtocol protocol = FidProtocol::pytorch_fid;
  LoadRequest load;  ///< load.checkpoint: the classifier, if given
  DatasetOptions data;
  std::string json, save_statistics, save_features;
  std::int64_t k = 3, split = 5000, gaussian_count = 0, seed = 0;
  std::int64_t batch_size = 64, workers = 2, threads = 0;
};

[[nodiscard]] Fields fields_of(MeasureRequest& request);
/// Throws UsageError if settings contradict each other.
void check_request(const MeasureRequest& request);

}  // namespace fovea
