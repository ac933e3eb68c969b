// Loads batches ahead of their use in worker threads.
//
// The images of a batch depend on (seed, epoch), and their random steps on (seed, epoch, index):
// the bytes are the same for any number of workers and after any resume.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/loading/batch.h"
#include "data/loading/batch_maker.h"
#include "data/loading/batch_source.h"
#include "data/loading/loader_options.h"
#include "data/loading/sampler.h"
#include "data/pipeline.h"

namespace fovea {

class Loader : public BatchSource {
 public:
  /// Throws unless an epoch has at least one batch. Starts working at `start`. `prepare` is called
  /// once per batch by the worker that made it (by next() without workers), but not for an empty
  /// batch.
  Loader(std::shared_ptr<const Dataset> dataset, Pipeline pipeline, LoaderOptions options,
         Cursor start = {}, PrepareBatch prepare = {});
  ~Loader() override;  ///< waits for batches in progress
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Returns the batch at cursor(), or the shard of it, and advances the cursor. Rethrows errors of
  /// samples and of `prepare`, naming the sample or the batch, but std::bad_alloc as it is. Throws
  /// at the end unless epochs are endless.
  [[nodiscard]] Batch next() override;
  /// The position of the next batch.
  [[nodiscard]] Cursor cursor() const { return next_.cursor; }
  [[nodiscard]] std::int64_t shard() const { return next_.shard; }  ///< of the next batch
  /// Indices in the data set of the images of `batches` batches of an epoch, from `first` on: those
  /// of all shards, in order, as if none was broken.
  [[nodiscard]] std::vector<std::int64_t> images_of(Cursor first, std::int64_t batches);
  /// Whether next() can return another batch.
  [[nodiscard]] bool has_next() const;

  [[nodiscard]] std::int64_t batches_per_epoch() const { return batches_; }
  [[nodiscard]] const LoaderOptions& options() const { return options_; }
  /// The number of distinct bad images in the batches so far.
  [[nodiscard]] std::int64_t bad_images() const { return std::ssize(bad_images_); }
  /// The bad images encountered since the last call.
  [[nodiscard]] std::vector<BrokenImage> take_bad_images();
  /// Called during a wait in next(), every options.seconds_without_word, with a message such
  /// as "waiting for images".
  std::function<void(const std::string& what)> on_wait{};

 private:
  struct Workers;  ///< threads, queue and their lock
  void note(const std::vector<BrokenImage>& met);

  LoaderOptions options_;
  BatchPart next_;
  std::int64_t first_epoch_;
  std::int64_t batches_;
  std::int64_t images_;  ///< number of images in the data set
  std::set<std::int64_t> bad_images_;
  std::vector<BrokenImage> new_bad_images_;  ///< not yet returned by take_bad_images()
  std::unique_ptr<Workers> workers_;
  std::shared_ptr<const std::vector<std::int64_t>> order_;  ///< see images_of()
  std::int64_t order_epoch_ = 0;
};

}  // namespace fovea
