// Makes batches: read, place, vary, normalise, erase.
#include "data/loading/batch_maker.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "data/loading/batch_source.h"
#include "data/loading/sequential.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::uint64_t kAugmentStream = 0x6175676D656E74;  // "augment"

/// Throws for an image that is so long that padding the whole batch to it takes too much memory.
void require_paddable(ImageSize size) {
  constexpr std::int64_t kLongest = 10'664;  // what detr_moves() leaves of a very long one
  if (std::max(size.height, size.width) <= kLongest) return;
  throw ImageError("is " + to_string(size) + " (height x width), but images that are padded to " +
                   "the size of others have at most " + std::to_string(kLongest) +
                   " pixels a side");
}

/// The first image of a shard in a batch of `count` images.
std::int64_t shard_begin(const ShardOptions& options, std::int64_t count, std::int64_t shard) {
  const std::int64_t units = count / options.multiple;
  if (shard == options.shards.count) return count;
  return options.multiple * part_begin(units, shard, options.shards.count);
}

}  // namespace

BatchMaker::BatchMaker(std::shared_ptr<const Dataset> dataset, Pipeline pipeline,
                       const LoaderOptions& options, PrepareBatch prepare)
    : dataset_(std::move(dataset)),
      pipeline_(std::move(pipeline)),
      options_(options),
      prepare_(std::move(prepare)) {}

std::vector<std::int64_t> BatchMaker::order(std::int64_t epoch) const {
  const EpochOptions& o = options_.epoch;
  if (!o.shuffle || is_sequential(*dataset_)) return sequential_order(dataset_->size());
  const std::vector<std::int64_t> parts = dataset_->parts();
  return o.shuffle_buffer > 0 && !parts.empty()
             ? buffered_order(parts, o.shuffle_buffer, options_.seed, epoch)
             : shuffled_order(dataset_->size(), options_.seed, epoch);
}

BatchMaker::Made BatchMaker::make(const std::vector<std::int64_t>& order, BatchPart part) const {
  const std::int64_t repeats = options_.epoch.repeats;
  const std::int64_t batch = part.cursor.batch * options_.batch_size;
  const std::int64_t size = epoch_size(std::ssize(order), repeats);
  const std::int64_t count = std::min(options_.batch_size, size - batch);
  const std::int64_t begin = batch + shard_begin(options_.sharding, count, part.shard),
                     end = batch + shard_begin(options_.sharding, count, part.shard + 1);
  Made made;
  BatchRows rows((end - begin) * options_.rows.splits, options_.rows, pipeline_.normalization);
  for (std::int64_t i = begin; i < end; ++i)
    put(made, rows, {part.cursor.epoch, order[i / repeats], i % repeats, i});
  Batch shard = rows.take();
  if (options_.sharding.shards.count > 1) shard.whole = count * options_.rows.splits;
  made.batch = prepared(std::move(shard), part);
  return made;
}

/// Adds the rows of the sample or of its replacement; none if it is dropped.
void BatchMaker::put(Made& made, BatchRows& rows, Draw draw) const try {
  const OnBadImage then = options_.bad_images.then;
  for (std::int64_t tries = 0; tries < dataset_->size(); ++tries) {
    try {
      return add_sample(rows, draw);
    } catch (const ImageError& error) {
      if (then == OnBadImage::fail) throw;
      made.bad.push_back({draw.index, error.what()});
      broken_.fetch_add(1, std::memory_order_relaxed);
    }
    if (then == OnBadImage::drop) return;
    draw.index = (draw.index + 1) % dataset_->size();
  }
  throw AllImagesBad(concat("loader: none of the ", dataset_->size(),
                            " images can be read, the last: ", made.bad.back().message));
} catch (const AllImagesBad&) {
  throw;
} catch (const std::bad_alloc&) {  // of the batch: it says what it is
  throw;
} catch (const std::exception& error) {
  fail("loader: sample ", draw.index, " of epoch ", draw.epoch, ": ", error.what());
}

void BatchMaker::add_sample(BatchRows& rows, const Draw& draw) const {
  Rng rng = rng_of(draw);
  Sample placed = place(draw.index, rng);
  if (options_.rows.splits == 1)
    return add_row(rows, pipeline_.vary(std::move(placed), rng), draw, 0, rng);
  add_row(rows, placed, draw, 0, rng);
  for (std::int64_t split = 1; split < options_.rows.splits; ++split)
    add_row(rows, pipeline_.vary(placed, rng), draw, split, rng);
}

/// The sample after the pipeline's steps. A picture that does not fit the memory is a broken one.
Sample BatchMaker::place(std::int64_t index, Rng& rng) const try {
  Sample sample = read(index, rng);
  try {
    sample = pipeline_.place(std::move(sample), rng);
    if (options_.rows.pad_multiple > 0) require_paddable(sample.image.size());
    return sample;
  } catch (const ImageError& error) {  // of a picture that steps do not know by name
    throw ImageError(dataset_->describe(index) + ": " + error.what());
  }
} catch (const std::bad_alloc&) {
  throw ImageError(dataset_->describe(index) + ": takes more memory than there is");
}

void BatchMaker::add_row(BatchRows& rows, Sample sample, const Draw& draw, std::int64_t split,
                         Rng& rng) const {
  std::vector<Erasure> erased;
  if (pipeline_.draw_erasures && is_finished(draw, split)) {
    const Image& image = sample.image;
    check(image.format.channels == Image::kChannels, "its image is ", to_string(image.format),
          ", but random erasing expects three channels");
    erased = pipeline_.draw_erasures(image.size(), rng);
  }
  rows.add(std::move(sample), draw.index, std::move(erased));
}

/// The random generator of a sample; repeats of a sample within an epoch are augmented
/// differently.
Rng BatchMaker::rng_of(const Draw& draw) const {
  std::uint64_t stream = stream_of(kAugmentStream, static_cast<std::uint64_t>(draw.epoch),
                                   static_cast<std::uint64_t>(draw.index));
  if (draw.repeat > 0) stream = stream_of(stream, static_cast<std::uint64_t>(draw.repeat));
  return Rng(options_.seed, stream);
}

Sample BatchMaker::read(std::int64_t index, Rng& rng) const {
  if (!pipeline_.choose_box) return dataset_->get(index);
  const ChooseBox choose = [&](ImageSize size) { return pipeline_.choose_box(size, rng); };
  return dataset_->get(index, choose, options_.rows.shrink_to);
}

bool BatchMaker::is_finished(const Draw& draw, std::int64_t split) const {
  const std::int64_t every = options_.rows.unfinished_every;
  return every == 0 || (draw.place * options_.rows.splits + split) % every != 0;
}

Batch BatchMaker::prepared(Batch batch, BatchPart part) const try {
  if (!prepare_ || batch.size() == 0) return batch;
  return prepare_(std::move(batch), part);
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception& error) {
  fail("loader: batch ", part.cursor.batch, " of epoch ", part.cursor.epoch, ": ", error.what());
}

}  // namespace fovea
