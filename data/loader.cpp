// Threads that make batches, and the bounded queue between them and the consumer.
//
// Batches are numbered from the start. Workers take the next number as long as it is less than
// `queue` ahead of the consumer, and put the result into slot number % queue.
#include "data/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "engine/check.h"

namespace fovea {
namespace {

constexpr std::uint64_t kAugmentStream = 0x6175676D656E74;  // "augment"

/// Makes any batch of any epoch. Const: all workers share one.
class BatchMaker {
 public:
  BatchMaker(std::shared_ptr<const Dataset> dataset, Pipeline pipeline,
             const LoaderOptions& options)
      : dataset_(std::move(dataset)), pipeline_(std::move(pipeline)), options_(options) {}

  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t epoch) const {
    return options_.shuffle ? shuffled_order(dataset_->size(), options_.seed, epoch)
                            : sequential_order(dataset_->size());
  }

  /// `order` is order(at.epoch).
  [[nodiscard]] Batch make(const std::vector<std::int64_t>& order, Cursor at) const {
    const auto size = static_cast<std::int64_t>(order.size());
    const std::int64_t begin = at.batch * options_.batch_size;
    const std::int64_t count = std::min(options_.batch_size, size - begin);
    Batch batch;
    batch.labels = empty({count}, {DType::i64, {}});
    for (std::int64_t i = 0; i < count; ++i) put(batch, i, order[begin + i], at.epoch);
    return batch;
  }

 private:
  /// Writes sample `index` into row `row`.
  void put(Batch& batch, std::int64_t row, std::int64_t index, std::int64_t epoch) const try {
    Sample sample = dataset_->get(index);
    Rng rng(options_.seed, stream_of(kAugmentStream, static_cast<std::uint64_t>(epoch),
                                     static_cast<std::uint64_t>(index)));
    const Image image = pipeline_.apply(std::move(sample.image), rng);
    const Shape shape{batch.labels.size(0), Image::kChannels, image.height, image.width};
    if (!batch.images.defined()) batch.images = empty(shape);
    check(batch.images.shape() == shape, "its size is ", image.height, " x ", image.width,
          ", the batch began with ", batch.images.size(2), " x ", batch.images.size(3));
    const std::int64_t values = Image::kChannels * image.height * image.width;
    normalize(image, pipeline_.normalization, batch.images.data<float>() + row * values);
    batch.labels.data<std::int64_t>()[row] = sample.label;
  } catch (const std::exception& error) {
    fail("loader: sample ", index, " of epoch ", epoch, ": ", error.what());
  }

  std::shared_ptr<const Dataset> dataset_;
  Pipeline pipeline_;
  LoaderOptions options_;
};

}  // namespace

struct Loader::Workers {
  struct Slot {
    Batch batch;
    std::exception_ptr error;
    bool ready = false;
  };
  using Order = std::shared_ptr<const std::vector<std::int64_t>>;

  Workers(BatchMaker batch_maker, const LoaderOptions& options, Cursor start, std::int64_t batches)
      : maker(std::move(batch_maker)),
        first(start.epoch * batches + start.batch),
        batches_per_epoch(batches),
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
      slot.batch = maker.make(*order_of(at.epoch), at);
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
  Slot take() {
    if (threads.empty()) return make(consumed++);
    Slot taken;
    {
      std::unique_lock lock(mutex);
      Slot& slot = slots[consumed % slots.size()];
      filled.wait(lock, [&] { return slot.ready; });
      taken = std::exchange(slot, Slot{});
      ++consumed;
    }
    space.notify_one();
    return taken;
  }

  const BatchMaker maker;
  const std::int64_t first, batches_per_epoch;
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
    : options_(options), cursor_(start), first_epoch_(start.epoch) {
  check(options_.batch_size >= 1, "loader: got batch size ", options_.batch_size,
        ", expected 1 or more");
  check(options_.workers >= 0 && options_.queue >= 0, "loader: got ", options_.workers,
        " workers and a queue of ", options_.queue, ", expected 0 or more");
  batches_ = batch_count(dataset->size(), options_.batch_size, options_.drop_last);
  check(batches_ >= 1, "loader: got ", dataset->size(), " images and batch size ",
        options_.batch_size, ", expected at least one whole batch");
  check(start.epoch >= 0 && start.batch >= 0 && start.batch < batches_,
        "loader: got a start at epoch ", start.epoch, ", batch ", start.batch,
        ", expected an epoch of 0 or more and a batch of 0 to ", batches_ - 1);
  if (options_.queue == 0) options_.queue = std::max(1, 2 * options_.workers);
  workers_ = std::make_unique<Workers>(
      BatchMaker(std::move(dataset), std::move(pipeline), options_), options_, start, batches_);
  workers_->start(options_.workers);
}

Loader::~Loader() = default;

bool Loader::has_next() const { return options_.repeat || cursor_.epoch == first_epoch_; }

Batch Loader::next() {
  check(has_next(), "loader: the epoch is over");
  const auto before = std::chrono::steady_clock::now();
  auto slot = workers_->take();
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - before;
  wait_seconds_ += waited.count();
  if (++cursor_.batch == batches_) cursor_ = {cursor_.epoch + 1, 0};
  if (slot.error) std::rethrow_exception(slot.error);
  return std::move(slot.batch);
}

}  // namespace fovea
