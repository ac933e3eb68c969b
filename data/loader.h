// Makes batches in worker threads, ahead of their use.
//
// Which images a batch holds depends on (seed, epoch) and what random steps do to an image on
// (seed, epoch, index): the bytes are the same for any number of workers and from any start.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "data/transforms.h"

namespace fovea {

struct LoaderOptions {
  std::int64_t batch_size = 128;
  int workers = 2;  ///< threads; 0 makes each batch when it is asked for
  int queue = 0;    ///< batches made ahead; 0 means 2 per worker
  bool shuffle = true;
  bool drop_last = true;  ///< leave out an incomplete last batch
  bool repeat = true;     ///< go on with the next epoch; false: next() ends after the first
  std::uint64_t seed = 0;
};
/// In the data set's order, every image once.
[[nodiscard]] LoaderOptions evaluation_loader_options(std::int64_t batch_size, int workers);

class Loader {
 public:
  /// Throws unless there is at least one batch an epoch. Starts working at `start`.
  Loader(std::shared_ptr<const Dataset> dataset, Pipeline pipeline, LoaderOptions options,
         Cursor start = {});
  ~Loader();  ///< waits for the batches that are being made
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The batch at cursor(), which then moves on. Rethrows what went wrong with a sample, naming
  /// it. Throws at the end when options.repeat is false.
  [[nodiscard]] Batch next();
  /// Where the next batch comes from.
  [[nodiscard]] Cursor cursor() const { return cursor_; }
  /// Whether next() has a batch to give.
  [[nodiscard]] bool has_next() const;

  [[nodiscard]] std::int64_t batches_per_epoch() const { return batches_; }
  [[nodiscard]] const LoaderOptions& options() const { return options_; }
  /// Seconds that next() has waited so far, all calls together.
  [[nodiscard]] double wait_seconds() const { return wait_seconds_; }

 private:
  struct Workers;  ///< threads, queue and their lock

  LoaderOptions options_;
  Cursor cursor_;
  std::int64_t first_epoch_;
  std::int64_t batches_;
  double wait_seconds_ = 0;
  std::unique_ptr<Workers> workers_;
};

}  // namespace fovea
