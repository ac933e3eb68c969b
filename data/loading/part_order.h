// The order in which a loader makes shards of batches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "data/loading/loader_options.h"
#include "data/loading/sampler.h"

namespace fovea {

/// The order of parts: the batches of a step for the first shard, then for the next.
class PartOrder {
 public:
  PartOrder(const ShardOptions& options, std::int64_t batches)
      : shards_(options.shards), group_(options.batches_per_step), batches_(batches) {}

  [[nodiscard]] std::int64_t per_epoch() const { return batches_ * shards_.mine(); }
  /// The number of the first part of a step.
  [[nodiscard]] std::int64_t number_of(Cursor step) const {
    return step.epoch * per_epoch() + step.batch * shards_.mine();
  }
  [[nodiscard]] BatchPart at(std::int64_t number) const {
    const std::int64_t epoch = number / per_epoch(), in_epoch = number % per_epoch();
    const std::int64_t first = in_epoch / (group_ * shards_.mine()) * group_;
    const std::int64_t group = std::min(group_, batches_ - first);
    const std::int64_t in_step = in_epoch - first * shards_.mine();
    return {{epoch, first + in_step % group}, shards_.first + in_step / group};
  }

 private:
  Shards shards_;
  std::int64_t group_, batches_;
};

}  // namespace fovea
