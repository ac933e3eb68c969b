// Where batches come from: a Loader, or what stands in for one.
#pragma once

#include "data/loading/batch.h"

namespace fovea {

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// The next batch, on the CPU; with several shards the next shard of one, in the order of
  /// ShardOptions.
  [[nodiscard]] virtual Batch next() = 0;
};

}  // namespace fovea
