// Makes any batch of any epoch as a pure function of (options, order, position). Private to data/.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/loading/batch.h"
#include "data/loading/batch_rows.h"
#include "data/loading/loader_options.h"
#include "data/loading/sampler.h"
#include "data/pipeline.h"

namespace fovea {

/// A task's transformation of a finished batch: changes images, draws noise. A pure function of
/// the batch and its position; called from several threads at once.
using PrepareBatch = std::function<Batch(Batch batch, BatchPart part)>;

/// Immutable: all workers share one instance.
class BatchMaker {
 public:
  struct Made {
    Batch batch;
    std::vector<BrokenImage> bad;  ///< encountered in this batch
  };

  BatchMaker(std::shared_ptr<const Dataset> dataset, Pipeline pipeline,
             const LoaderOptions& options, PrepareBatch prepare);

  /// Number of broken images encountered so far by all workers, counting repetitions.
  [[nodiscard]] std::int64_t broken() const { return broken_.load(std::memory_order_relaxed); }
  /// The image order of an epoch.
  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t epoch) const;
  /// Makes the batch, or the part of it, that `part` names; `order` is that of its epoch. Throws
  /// Error that names the sample.
  [[nodiscard]] Made make(const std::vector<std::int64_t>& order, BatchPart part) const;

 private:
  /// The inputs of a sample's random steps, apart from the seed.
  struct Draw {
    std::int64_t epoch, index, repeat;
    std::int64_t place;  ///< position in the epoch; only resplit depends on it
  };

  void put(Made& made, BatchRows& rows, Draw draw) const;
  void add_sample(BatchRows& rows, const Draw& draw) const;
  void add_row(BatchRows& rows, Sample sample, const Draw& draw, std::int64_t split,
               Rng& rng) const;
  [[nodiscard]] Rng rng_of(const Draw& draw) const;
  [[nodiscard]] Sample place(std::int64_t index, Rng& rng) const;
  [[nodiscard]] Sample read(std::int64_t index, Rng& rng) const;
  [[nodiscard]] bool is_finished(const Draw& draw, std::int64_t split) const;
  [[nodiscard]] Batch prepared(Batch batch, BatchPart part) const;

  std::shared_ptr<const Dataset> dataset_;
  Pipeline pipeline_;
  LoaderOptions options_;
  PrepareBatch prepare_;
  mutable std::atomic<std::int64_t> broken_ = 0;
};

}  // namespace fovea
