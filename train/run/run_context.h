// Settings shared by all parts of a run, which receive them and keep no copies.
#pragma once

#include <cstdint>

#include "data/normalization.h"
#include "engine/device.h"
#include "engine/dtype.h"

namespace fovea {

struct RunContext {
  std::uint64_t seed = 42;  ///< determines all randomness, together with the place in the run
  Device device{};
  DType precision = DType::f32;  ///< dtype of activations
  bool allow_tf32 = false;
  std::int64_t threads = 0;   ///< compute threads; 0: all cores
  double comm_timeout = 600;  ///< seconds that a process waits for another before it gives up
  std::int64_t workers = 2;   ///< threads that prepare batches
  Normalization normalization = kCifarNormalization;
  double bad_image_limit = 0.01;  ///< fraction of broken images at which a run stops
};

}  // namespace fovea
