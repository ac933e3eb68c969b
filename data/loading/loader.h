// Makes batches in worker threads, ahead of their use.
//
// Which images a batch holds depends on (seed, epoch) and what random steps do to an image on
// (seed, epoch, index): the bytes are the same for any number of workers and from any start.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/dataset.h"
#include "data/loading/batch.h"
#include "data/loading/batch_maker.h"
#include "data/loading/loader_options.h"
#include "data/loading/sampler.h"
#include "data/pipeline.h"

namespace fovea {

/// More images are broken than BadImageOptions::limit allows.
class TooManyBadImages : public Error {
 public:
  using Error::Error;
};

class Loader {
 public:
  /// Throws unless there is at least one batch an epoch. Starts working at `start`. `prepare` is
  /// called once for each batch, by the worker that made it (by next() where there are none), but
  /// not for an empty batch.
  Loader(std::shared_ptr<const Dataset> dataset, Pipeline pipeline, LoaderOptions options,
         Cursor start = {}, PrepareBatch prepare = {});
  ~Loader();  ///< waits for the batches that are being made
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The batch at cursor(), which then moves on. Rethrows what went wrong with a sample or in
  /// `prepare`, naming the sample or the batch. Throws at the end when epochs are not endless.
  [[nodiscard]] Batch next();
  /// Where the next batch comes from.
  [[nodiscard]] Cursor cursor() const { return cursor_; }
  /// Whether next() has a batch to give.
  [[nodiscard]] bool has_next() const;

  [[nodiscard]] std::int64_t batches_per_epoch() const { return batches_; }
  [[nodiscard]] const LoaderOptions& options() const { return options_; }
  /// How many different bad images the batches so far have met, and those that were met since the
  /// last call.
  [[nodiscard]] std::int64_t bad_images() const {
    return static_cast<std::int64_t>(bad_images_.size());
  }
  [[nodiscard]] std::vector<BrokenImage> take_bad_images();
  /// Told what next() waits for, every options.seconds_without_word while it does.
  std::function<void(const std::string& what)> on_wait{};

 private:
  struct Workers;  ///< threads, queue and their lock
  void note(const std::vector<BrokenImage>& met);

  LoaderOptions options_;
  Cursor cursor_;
  std::int64_t first_epoch_;
  std::int64_t batches_;
  std::int64_t images_;  ///< of the data set
  std::set<std::int64_t> bad_images_;
  std::vector<BrokenImage> new_bad_images_;  ///< not taken yet
  std::unique_ptr<Workers> workers_;
};

}  // namespace fovea
