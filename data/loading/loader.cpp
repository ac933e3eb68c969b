// Threads that make batches, and the bounded queue between them and the consumer.
//
// Batches are numbered from the start. Workers take the next number as long as it is less than
// `queue` ahead of the consumer, and put the result into slot number % queue.
#include "data/loading/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"

namespace fovea {
namespace {

constexpr std::uint64_t kAugmentStream = 0x6175676D656E74;  // "augment"

Tensor first_rows(const Tensor& whole, std::int64_t rows) {
  Shape shape = whole.shape();
  shape[0] = rows;
  return whole.alias(shape, whole.strides(), 0);
}

}  // namespace

/// Makes any batch of any epoch. Const: all workers share one.
class Loader::BatchMaker {
 public:
  struct Made {
    Batch batch;
    std::vector<BrokenImage> bad;  ///< met on the way
  };

  BatchMaker(std::shared_ptr<const Dataset> dataset, Pipeline pipeline,
             const LoaderOptions& options)
      : dataset_(std::move(dataset)), pipeline_(std::move(pipeline)), options_(options) {}

  /// Broken images met so far, by all workers, the same ones again and again.
  [[nodiscard]] std::int64_t broken() const { return broken_.load(std::memory_order_relaxed); }

  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t epoch) const {
    if (!options_.shuffle) return sequential_order(dataset_->size());
    const std::vector<std::int64_t> parts = dataset_->parts();
    return options_.shuffle_buffer > 0 && !parts.empty()
               ? buffered_order(parts, options_.shuffle_buffer, options_.seed, epoch)
               : shuffled_order(dataset_->size(), options_.seed, epoch);
  }

  /// `order` is order(at.epoch).
  [[nodiscard]] Made make(const std::vector<std::int64_t>& order, Cursor at) const {
    const std::int64_t begin = at.batch * options_.batch_size;
    const std::int64_t size = epoch_size(static_cast<std::int64_t>(order.size()), options_.repeats);
    const std::int64_t count = std::min(options_.batch_size, size - begin);
    const std::int64_t rows = count * options_.splits;
    Made made;
    made.batch.labels = empty({rows}, {DType::i64, {}});
    made.batch.indices = empty({rows}, {DType::i64, {}});
    std::int64_t row = 0;
    for (std::int64_t i = begin; i < begin + count; ++i) {
      const Draw draw{at.epoch, order[i / options_.repeats], i % options_.repeats, i};
      row += put(made, row, draw) ? options_.splits : 0;
    }
    if (row < rows) {
      made.batch.labels = first_rows(made.batch.labels, row);
      made.batch.indices = first_rows(made.batch.indices, row);
      if (row > 0) made.batch.images = first_rows(made.batch.images, row);
    }
    return made;
  }

 private:
  /// What the random steps of one sample depend on, beside the seed.
  struct Draw {
    std::int64_t epoch, index, repeat;
    std::int64_t place;  ///< in the epoch; only what is left unfinished depends on it
  };

  /// Writes the sample, or what stands in for it, from row `row` on. False when it is left out.
  bool put(Made& made, std::int64_t row, Draw draw) const try {
    for (std::int64_t tries = 0; tries < dataset_->size(); ++tries) {
      try {
        write(made.batch, row, draw);
        return true;
      } catch (const ImageError& error) {
        if (options_.on_bad_image == OnBadImage::fail) throw;
        made.bad.push_back({draw.index, error.what()});
        broken_.fetch_add(1, std::memory_order_relaxed);
      }
      if (options_.on_bad_image == OnBadImage::drop) return false;
      draw.index = (draw.index + 1) % dataset_->size();
    }
    fail("none of the ", dataset_->size(),
         " images can be read, the last: ", made.bad.back().message);
  } catch (const std::exception& error) {
    fail("loader: sample ", draw.index, " of epoch ", draw.epoch, ": ", error.what());
  }

  void write(Batch& batch, std::int64_t row, const Draw& draw) const {
    std::uint64_t stream = stream_of(kAugmentStream, static_cast<std::uint64_t>(draw.epoch),
                                     static_cast<std::uint64_t>(draw.index));
    if (draw.repeat > 0) stream = stream_of(stream, static_cast<std::uint64_t>(draw.repeat));
    Rng rng(options_.seed, stream);
    Sample sample = read(draw.index, rng);
    Image placed = pipeline_.place(std::move(sample.image), rng);
    const auto put_split = [&](std::int64_t split, const Image& image) {
      float* values = put_image(batch, row + split, image);
      const std::int64_t every = options_.unfinished_every;
      const bool unfinished = every > 0 && (draw.place * options_.splits + split) % every == 0;
      if (pipeline_.finish && !unfinished) {
        pipeline_.finish(values, {image.height, image.width}, rng);
      }
      batch.labels.data<std::int64_t>()[row + split] = sample.label;
      batch.indices.data<std::int64_t>()[row + split] = draw.index;
    };
    const std::int64_t last = options_.splits - 1;
    for (std::int64_t split = 0; split < last; ++split)
      put_split(split, split == 0 ? placed : pipeline_.vary(placed, rng));
    put_split(last, pipeline_.vary(std::move(placed), rng));
  }

  /// Its normalised values in the batch.
  float* put_image(Batch& batch, std::int64_t row, const Image& image) const {
    const Shape shape{batch.labels.size(0), Image::kChannels, image.height, image.width};
    if (!batch.images.defined()) batch.images = empty(shape);
    check(batch.images.shape() == shape, "its size is ", image.height, " x ", image.width,
          ", the batch began with ", batch.images.size(2), " x ", batch.images.size(3));
    float* target =
        batch.images.data<float>() + row * Image::kChannels * image.height * image.width;
    normalize(image, pipeline_.normalization, target);
    return target;
  }

  [[nodiscard]] Sample read(std::int64_t index, Rng& rng) const {
    if (!pipeline_.choose_box) return dataset_->get(index);
    const ChooseBox choose = [&](ImageSize size) { return pipeline_.choose_box(size, rng); };
    return dataset_->get(index, choose, options_.shrink_to);
  }

  std::shared_ptr<const Dataset> dataset_;
  Pipeline pipeline_;
  LoaderOptions options_;
  mutable std::atomic<std::int64_t> broken_ = 0;
};

struct Loader::Workers {
  struct Slot {
    BatchMaker::Made made;
    std::exception_ptr error;
    bool ready = false;
  };
  using Order = std::shared_ptr<const std::vector<std::int64_t>>;

  Workers(std::shared_ptr<const Dataset> dataset, Pipeline pipeline, const LoaderOptions& options,
          Cursor start, std::int64_t batches)
      : maker(std::move(dataset), std::move(pipeline), options),
        first(start.epoch * batches + start.batch),
        batches_per_epoch(batches),
        word_after(options.seconds_without_word),
        last(options.repeat ? INT64_MAX : (start.epoch + 1) * batches),
        slots(static_cast<std::size_t>(options.queue)),
        claimed(first),
        consumed(first) {}

  ~Workers() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    space.notify_all();
    for (std::thread& thread : threads) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void start(int count) {
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { run(); });
  }

  void run() {
    while (const std::optional<std::int64_t> number = claim()) {
      Slot made = make(*number);
      {
        const std::lock_guard lock(mutex);
        slots[*number % slots.size()] = std::move(made);
      }
      filled.notify_all();
    }
  }

  /// The number of the next batch to make; none when it is time to stop.
  std::optional<std::int64_t> claim() {
    std::unique_lock lock(mutex);
    const auto window = static_cast<std::int64_t>(slots.size());
    space.wait(lock, [&] { return stopping || claimed >= last || claimed < consumed + window; });
    if (stopping || claimed >= last) return std::nullopt;
    return claimed++;
  }

  Slot make(std::int64_t number) {
    Slot slot;
    slot.ready = true;
    const Cursor at{number / batches_per_epoch, number % batches_per_epoch};
    try {
      slot.made = maker.make(*order_of(at.epoch), at);
    } catch (...) {
      slot.error = std::current_exception();
    }
    return slot;
  }

  /// The order of an epoch, made once by whoever comes first.
  Order order_of(std::int64_t epoch) {
    const std::lock_guard lock(order_mutex);
    if (order == nullptr || order_epoch != epoch) {
      order = std::make_shared<const std::vector<std::int64_t>>(maker.order(epoch));
      order_epoch = epoch;
    }
    return order;
  }

  /// Waits for batch `consumed` and gives its slot free.
  Slot take(const std::function<void(const std::string&)>& tell) {
    if (threads.empty()) return make(consumed++);
    Slot taken;
    {
      std::unique_lock lock(mutex);
      Slot& slot = slots[consumed % slots.size()];
      const std::int64_t before = maker.broken();
      while (!filled.wait_for(lock, word_after, [&] { return slot.ready; })) {
        const std::int64_t broken = maker.broken() - before;
        if (!tell) continue;
        tell(broken == 0 ? "waiting for images"
                         : "waiting for images: " + std::to_string(broken) +
                               " that cannot be read were met meanwhile");
      }
      taken = std::exchange(slot, Slot{});
      ++consumed;
    }
    space.notify_one();
    return taken;
  }

  const BatchMaker maker;
  const std::int64_t first, batches_per_epoch;
  const std::chrono::duration<double> word_after;
  const std::int64_t last;  ///< one past the last number

  std::mutex mutex;                ///< guards what follows
  std::condition_variable space;   ///< a slot became free, or it is time to stop
  std::condition_variable filled;  ///< a slot became ready
  std::vector<Slot> slots;
  std::int64_t claimed;   ///< next number to make
  std::int64_t consumed;  ///< next number to hand out
  bool stopping = false;

  std::mutex order_mutex;  ///< guards the two below
  Order order;
  std::int64_t order_epoch = 0;

  std::vector<std::thread> threads;
};

LoaderOptions evaluation_loader_options(std::int64_t batch_size, int workers) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.workers = workers;
  options.shuffle = options.drop_last = options.repeat = false;
  return options;
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, Pipeline pipeline, LoaderOptions options,
               Cursor start)
    : options_(options), cursor_(start), first_epoch_(start.epoch), images_(dataset->size()) {
  check(options_.batch_size >= 1, "loader: got batch size ", options_.batch_size,
        ", expected 1 or more");
  check(options_.workers >= 0 && options_.queue >= 0, "loader: got ", options_.workers,
        " workers and a queue of ", options_.queue, ", expected 0 or more");
  check(options_.repeats >= 1 && options_.shuffle_buffer >= 0, "loader: got ", options_.repeats,
        " repeats and a shuffle buffer of ", options_.shuffle_buffer,
        ", expected at least 1 and 0");
  check(options_.splits >= 1 && options_.unfinished_every >= 0, "loader: got ", options_.splits,
        " splits, unfinished every ", options_.unfinished_every, ", expected at least 1 and 0");
  const std::int64_t shown = epoch_size(images_, options_.repeats);
  batches_ = batch_count(shown, options_.batch_size, options_.drop_last);
  check(batches_ >= 1, "loader: got ", images_, " images and batch size ", options_.batch_size,
        ", expected at least one whole batch");
  check(start.epoch >= 0 && start.batch >= 0 && start.batch < batches_,
        "loader: got a start at epoch ", start.epoch, ", batch ", start.batch,
        ", expected an epoch of 0 or more and a batch of 0 to ", batches_ - 1);
  if (options_.queue == 0) options_.queue = std::max(1, 2 * options_.workers);
  workers_ =
      std::make_unique<Workers>(std::move(dataset), std::move(pipeline), options_, start, batches_);
  workers_->start(options_.workers);
}

Loader::~Loader() = default;

bool Loader::has_next() const { return options_.repeat || cursor_.epoch == first_epoch_; }

Batch Loader::next() {
  check(has_next(), "loader: the epoch is over");
  const auto before = std::chrono::steady_clock::now();
  auto slot = workers_->take(on_wait);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - before;
  wait_seconds_ += waited.count();
  if (++cursor_.batch == batches_) cursor_ = {cursor_.epoch + 1, 0};
  if (slot.error) std::rethrow_exception(slot.error);
  note(slot.made.bad);
  return std::move(slot.made.batch);
}

void Loader::note(const std::vector<BrokenImage>& met) {
  for (const BrokenImage& image : met)
    if (bad_images_.insert(image.index).second) new_bad_images_.push_back(image);
  const double most = options_.bad_image_limit * static_cast<double>(images_);
  if (static_cast<double>(bad_images()) <= most) return;
  throw TooManyBadImages(
      "loader: " + std::to_string(bad_images()) + " of " + std::to_string(images_) +
      " images are broken, the last: " + (met.empty() ? "" : met.back().message));
}

std::vector<BrokenImage> Loader::take_bad_images() { return std::exchange(new_bad_images_, {}); }

}  // namespace fovea
