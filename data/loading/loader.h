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
#include "data/loading/sampler.h"
#include "data/transforms.h"

namespace fovea {

/// What to do about a picture that cannot be decoded.
enum class OnBadImage {
  fail,     ///< next() throws
  replace,  ///< the next good one of the data set stands in for it
  drop,     ///< the batch is one smaller, maybe empty
};

/// More images are broken than bad_image_limit allows.
class TooManyBadImages : public Error {
 public:
  using Error::Error;
};

struct LoaderOptions {
  std::int64_t batch_size = 128;
  int workers = 2;  ///< threads; 0 makes each batch when it is asked for
  int queue = 0;    ///< batches made ahead; 0 means 2 per worker
  bool shuffle = true;
  /// Images in the buffer of buffered_order(); 0: every order is equally likely. Counts only for
  /// data sets that have parts.
  std::int64_t shuffle_buffer = 0;
  /// The size that images are resized to, where they may be decoded smaller than they are (see
  /// DecodeOptions); 0 x 0: they may not.
  ImageSize shrink_to{};
  std::int64_t repeats = 1;  ///< of every image in a row, see epoch_size()
  /// Rows that a sample fills, one after another: itself as the pipeline's steps leave it, then
  /// variations of that (timm's aug-splits; 1: one row, varied). A batch has batch_size * splits
  /// rows.
  std::int64_t splits = 1;
  /// The pipeline's finish leaves out every so many rows of an epoch (timm's resplit); 0: none.
  std::int64_t unfinished_every = 0;
  bool drop_last = true;  ///< leave out an incomplete last batch
  bool repeat = true;     ///< go on with the next epoch; false: next() ends after the first
  OnBadImage on_bad_image = OnBadImage::fail;
  double bad_image_limit = 1;        ///< next() throws TooManyBadImages beyond this share
  double seconds_without_word = 10;  ///< see Loader::on_wait
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
  class BatchMaker;
  void note(const std::vector<BrokenImage>& met);

  LoaderOptions options_;
  Cursor cursor_;
  std::int64_t first_epoch_;
  std::int64_t batches_;
  std::int64_t images_;  ///< of the data set
  double wait_seconds_ = 0;
  std::set<std::int64_t> bad_images_;
  std::vector<BrokenImage> new_bad_images_;  ///< not taken yet
  std::unique_ptr<Workers> workers_;
};

}  // namespace fovea
