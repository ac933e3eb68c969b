// Makes any batch of any epoch: a function of (options, order, place). Private to data/.
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

/// What a task does to a batch before it is handed out: images changed, noise drawn. A function of
/// the batch and its place alone; called from several threads at once.
using PrepareBatch = std::function<Batch(Batch batch, Cursor at)>;

/// Const: all workers share one.
class BatchMaker {
 public:
  struct Made {
    Batch batch;
    std::vector<BrokenImage> bad;  ///< met on the way
  };

  BatchMaker(std::shared_ptr<const Dataset> dataset, Pipeline pipeline,
             const LoaderOptions& options, PrepareBatch prepare);

  /// Broken images met so far, by all workers, the same ones again and again.
  [[nodiscard]] std::int64_t broken() const { return broken_.load(std::memory_order_relaxed); }
  /// Of an epoch.
  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t epoch) const;
  /// `order` is order(at.epoch). Throws Error, naming the sample that it is about.
  [[nodiscard]] Made make(const std::vector<std::int64_t>& order, Cursor at) const;

 private:
  /// What the random steps of one sample depend on, apart from the seed.
  struct Draw {
    std::int64_t epoch, index, repeat;
    std::int64_t place;  ///< in the epoch; only what is left unfinished depends on it
  };

  void put(Made& made, BatchRows& rows, Draw draw) const;
  void add_sample(BatchRows& rows, const Draw& draw) const;
  void add_row(BatchRows& rows, Sample sample, const Draw& draw, std::int64_t split,
               Rng& rng) const;
  [[nodiscard]] Rng rng_of(const Draw& draw) const;
  [[nodiscard]] Sample read(std::int64_t index, Rng& rng) const;
  [[nodiscard]] bool is_finished(const Draw& draw, std::int64_t split) const;
  [[nodiscard]] Batch prepared(Batch batch, Cursor at) const;

  std::shared_ptr<const Dataset> dataset_;
  Pipeline pipeline_;
  LoaderOptions options_;
  PrepareBatch prepare_;
  mutable std::atomic<std::int64_t> broken_ = 0;
};

}  // namespace fovea
