// Where batches come from: a Loader, or what stands in for one.
#pragma once

#include "data/loading/batch.h"
#include "engine/base/error.h"

namespace fovea {

/// Thrown when more images are broken than BadImageOptions::limit allows.
class TooManyBadImages : public Error {
 public:
  using Error::Error;
};
/// Thrown when no image can be read, whatever the limit.
class AllImagesBad : public TooManyBadImages {
 public:
  using TooManyBadImages::TooManyBadImages;
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// The next batch, on the CPU; with several shards the next shard of one, in the order of
  /// ShardOptions.
  [[nodiscard]] virtual Batch next() = 0;
};

}  // namespace fovea
