// How a loader makes batches: which images, in which order, and into which rows.
#pragma once

#include <cstdint>

#include "data/image.h"

namespace fovea {

/// Which images an epoch shows, and what follows it.
struct EpochOptions {
  bool shuffle = true;
  /// Images in the buffer of buffered_order(); 0: every order is equally likely. Counts only for
  /// data sets that have parts.
  std::int64_t shuffle_buffer = 0;
  std::int64_t repeats = 1;  ///< of every image in a row, see epoch_size()
  bool drop_last = true;     ///< leave out an incomplete last batch
  bool endless = true;       ///< false: next() throws after the first epoch
};

/// How samples become rows of a batch.
struct RowOptions {
  /// Rows that a sample fills, one after another: itself as the pipeline's steps leave it, then
  /// variations of that (timm's aug-splits; 1: one row, varied). A batch has batch_size * splits
  /// rows.
  std::int64_t splits = 1;
  /// The pipeline's finish leaves out every so many rows of an epoch (timm's resplit); 0: none.
  std::int64_t unfinished_every = 0;
  /// The size that images are resized to, where they may be decoded smaller than they are (see
  /// DecodeOptions); 0 x 0: they may not.
  ImageSize shrink_to{};
  /// 0: images of a batch have one size, others are an error. Else smaller ones are padded with
  /// zeros at the right and at the bottom, to the largest sides of the batch, rounded up to a
  /// multiple of this; the batch has a member "mask" then, see BatchRows.
  std::int64_t pad_multiple = 0;
};

/// What to do about a picture that cannot be decoded.
enum class OnBadImage {
  fail,     ///< next() throws
  replace,  ///< the next good one of the data set stands in for it
  drop,     ///< the batch is one smaller, maybe empty
};

struct BadImageOptions {
  OnBadImage then = OnBadImage::fail;
  double limit = 1;  ///< next() throws TooManyBadImages beyond this share of the data set
};

struct LoaderOptions {
  std::int64_t batch_size = 128;
  std::uint64_t seed = 0;
  EpochOptions epoch{};
  RowOptions rows{};
  BadImageOptions bad_images{};

  int workers = 2;                   ///< threads; 0 makes each batch when it is asked for
  int queue = 0;                     ///< batches made ahead; 0 means 2 per worker
  double seconds_without_word = 10;  ///< see Loader::on_wait
};
/// In the data set's order, every image once.
[[nodiscard]] LoaderOptions evaluation_loader_options(std::int64_t batch_size, int workers);

}  // namespace fovea
