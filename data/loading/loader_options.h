// Loader options: which images, in which order, and in which rows.
#pragma once

#include <cstdint>

#include "data/image.h"
#include "engine/comm/shards.h"

namespace fovea {

/// The images of an epoch, and what happens at its end.
struct EpochOptions {
  bool shuffle = true;
  /// Size of the shuffle buffer of buffered_order(), in images; 0: a full shuffle. Only for data
  /// sets that have parts.
  std::int64_t shuffle_buffer = 0;
  std::int64_t repeats = 1;  ///< consecutive repetitions of each image, see epoch_size()
  bool drop_last = true;     ///< whether to drop an incomplete last batch
  bool endless = true;       ///< false: next() throws after the first epoch
};

/// How samples become rows of a batch.
struct RowOptions {
  /// Batch rows per sample: the sample as the pipeline's steps leave it, then variations of it
  /// (timm's aug-splits; 1: one row, varied). A batch has batch_size * splits rows.
  std::int64_t splits = 1;
  /// One in so many rows of an epoch skips the pipeline's erasing (timm's resplit); 0: none.
  std::int64_t unfinished_every = 0;
  /// The size to which images will be resized, if they may be decoded at reduced size (see
  /// DecodeOptions); 0 x 0: they may not.
  ImageSize shrink_to{};
  /// 0: all images of a batch must have the same size. Otherwise smaller ones are padded with
  /// zeros on the right and at the bottom, to the largest sides of the batch rounded up to a
  /// multiple of this; the batch then has a member "mask", see BatchRows.
  std::int64_t pad_multiple = 0;
  /// Leaves normalisation, erasing and mixing to the model's device, see Batch::raw. Only for
  /// batches of 8-bit RGB images that are not padded; others have values.
  bool raw = false;
};

/// What to do about an image that cannot be decoded.
enum class OnBadImage {
  fail,     ///< next() throws
  replace,  ///< use the next good image of the data set instead
  drop,     ///< make the batch one row smaller, possibly empty
};

struct BadImageOptions {
  OnBadImage then = OnBadImage::fail;
  double limit = 1;  ///< share of the data set beyond which next() throws TooManyBadImages
};

/// The part of each batch that this loader makes. The batches of a step come shard by shard: those
/// of the first shard, then those of the next.
struct ShardOptions {
  Shards shards{};
  std::int64_t batches_per_step = 1;
  std::int64_t multiple = 1;  ///< a shard has a multiple of so many images
};

struct LoaderOptions {
  std::int64_t batch_size = 128;
  std::uint64_t seed = 0;
  EpochOptions epoch{};
  RowOptions rows{};
  BadImageOptions bad_images{};
  ShardOptions sharding{};

  int workers = 2;                   ///< threads; 0 makes each batch on demand
  int queue = 0;                     ///< batches made ahead; 0: 2 per worker
  double seconds_without_word = 10;  ///< see Loader::on_wait
};
/// Options for evaluation: every image once, in the data set's order.
[[nodiscard]] LoaderOptions evaluation_loader_options(std::int64_t batch_size, int workers);

}  // namespace fovea
