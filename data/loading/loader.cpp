// The worker threads, and the bounded queue between them and the consumer.
//
// Batches are numbered from the start; with shards, their parts are, see PartOrder. A worker takes
// the next number if it is less than `queue` ahead of the consumer, and stores the result in slot
// number % queue.
#include "data/loading/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "data/loading/part_order.h"
#include "data/loading/sequential.h"
#include "engine/base/error.h"

namespace fovea {

struct Loader::Workers {
  struct Slot {
    BatchMaker::Made made;
    std::exception_ptr error;
    bool ready = false;
  };
  using Order = std::shared_ptr<const std::vector<std::int64_t>>;

  Workers(std::unique_ptr<const BatchMaker> batch_maker, const LoaderOptions& options, Cursor start,
          std::int64_t batches)
      : maker(std::move(batch_maker)),
        parts(options.sharding, batches),
        first(parts.number_of(start)),
        word_after(options.seconds_without_word),
        last(options.epoch.endless ? INT64_MAX : (start.epoch + 1) * parts.per_epoch()),
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

  /// The number of the next batch to make; empty when the worker should stop.
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
    const BatchPart at = parts.at(number);
    try {
      slot.made = maker->make(*order_of(at.cursor.epoch), at);
    } catch (...) {
      slot.error = std::current_exception();
    }
    return slot;
  }

  /// The order of an epoch, computed by the first caller.
  Order order_of(std::int64_t epoch) {
    const std::lock_guard lock(order_mutex);
    if (order == nullptr || order_epoch != epoch) {
      order = std::make_shared<const std::vector<std::int64_t>>(maker->order(epoch));
      order_epoch = epoch;
    }
    return order;
  }

  /// Waits for batch `consumed` and frees its slot.
  Slot take(const std::function<void(const std::string&)>& tell) {
    if (threads.empty()) return make(consumed++);
    Slot taken;
    {
      std::unique_lock lock(mutex);
      Slot& slot = slots[consumed % slots.size()];
      const std::int64_t before = maker->broken();
      while (!filled.wait_for(lock, word_after, [&] { return slot.ready; })) {
        const std::int64_t broken = maker->broken() - before;
        if (!tell) continue;
        tell(broken == 0 ? "waiting for images"
                         : "waiting for images: " + std::to_string(broken) + " unreadable so far");
      }
      taken = std::exchange(slot, Slot{});
      ++consumed;
    }
    space.notify_one();
    return taken;
  }

  const std::unique_ptr<const BatchMaker> maker;
  const PartOrder parts;
  const std::int64_t first;
  const std::chrono::duration<double> word_after;
  const std::int64_t last;  ///< one past the last batch number

  std::mutex mutex;                ///< guards what follows
  std::condition_variable space;   ///< notified when a slot is free or the workers should stop
  std::condition_variable filled;  ///< notified when a slot is filled
  std::vector<Slot> slots;
  std::int64_t claimed;   ///< next batch number to make
  std::int64_t consumed;  ///< next batch number to return
  bool stopping = false;

  std::mutex order_mutex;  ///< guards the next two members
  Order order;
  std::int64_t order_epoch = 0;

  std::vector<std::thread> threads;
};

LoaderOptions evaluation_loader_options(std::int64_t batch_size, int workers) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.workers = workers;
  options.epoch.shuffle = options.epoch.drop_last = options.epoch.endless = false;
  return options;
}

namespace {

void check_options(const LoaderOptions& o) {
  check(o.batch_size >= 1, "loader: got batch size ", o.batch_size, ", expected 1 or more");
  check(o.workers >= 0 && o.queue >= 0, "loader: got ", o.workers, " workers and a queue of ",
        o.queue, ", expected 0 or more");
  check(o.epoch.repeats >= 1 && o.epoch.shuffle_buffer >= 0, "loader: got ", o.epoch.repeats,
        " repeats and a shuffle buffer of ", o.epoch.shuffle_buffer, ", expected at least 1 and 0");
  check(o.rows.splits >= 1 && o.rows.unfinished_every >= 0, "loader: got ", o.rows.splits,
        " splits, unfinished every ", o.rows.unfinished_every, ", expected at least 1 and 0");
  const Shards& shards = o.sharding.shards;
  check(shards.first >= 0 && shards.first < shards.end && shards.end <= shards.count,
        "loader: got shards ", shards.first, " to ", shards.end, " of ", shards.count,
        ", expected at least one");
  check(o.sharding.batches_per_step >= 1 && o.sharding.multiple >= 1, "loader: got ",
        o.sharding.batches_per_step, " batches per step and shards of a multiple of ",
        o.sharding.multiple, " images, expected 1 or more");
  check(o.rows.pad_multiple >= 0, "loader: got images padded to a multiple of ",
        o.rows.pad_multiple, ", expected 0 or more");
}

}  // namespace

Loader::Loader(std::shared_ptr<const Dataset> dataset, Pipeline pipeline, LoaderOptions options,
               Cursor start, PrepareBatch prepare)
    : options_(options), first_epoch_(start.epoch), images_(dataset->size()) {
  check_options(options_);
  const std::int64_t shown = epoch_size(images_, options_.epoch.repeats);
  batches_ = batch_count(shown, options_.batch_size, options_.epoch.drop_last);
  check(batches_ >= 1, "loader: got ", images_, " images and batch size ", options_.batch_size,
        ", expected at least one whole batch");
  check(start.epoch >= 0 && start.batch >= 0 && start.batch < batches_,
        "loader: got a start at epoch ", start.epoch, ", batch ", start.batch,
        ", expected an epoch of 0 or more and a batch of 0 to ", batches_ - 1);
  if (is_sequential(*dataset)) options_.workers = std::min(options_.workers, 1);
  if (options_.queue == 0) options_.queue = std::max(1, 2 * options_.workers);
  auto maker = std::make_unique<const BatchMaker>(std::move(dataset), std::move(pipeline), options_,
                                                  std::move(prepare));
  workers_ = std::make_unique<Workers>(std::move(maker), options_, start, batches_);
  next_ = workers_->parts.at(workers_->consumed);
  workers_->start(options_.workers);
}

Loader::~Loader() = default;

bool Loader::has_next() const { return options_.epoch.endless || cursor().epoch == first_epoch_; }

Batch Loader::next() {
  check(has_next(), "loader: the epoch is over");
  auto slot = workers_->take(on_wait);
  next_ = workers_->parts.at(workers_->consumed);
  if (slot.error) std::rethrow_exception(slot.error);
  note(slot.made.bad);
  return std::move(slot.made.batch);
}

std::vector<std::int64_t> Loader::images_of(Cursor first, std::int64_t batches) {
  if (order_ == nullptr || order_epoch_ != first.epoch) {
    order_ = workers_->order_of(first.epoch);
    order_epoch_ = first.epoch;
  }
  const std::int64_t repeats = options_.epoch.repeats, size = options_.batch_size;
  const std::int64_t end = std::min((first.batch + batches) * size, epoch_size(images_, repeats));
  std::vector<std::int64_t> images;
  for (std::int64_t i = first.batch * size; i < end; ++i) images.push_back((*order_)[i / repeats]);
  return images;
}

void Loader::note(const std::vector<BrokenImage>& met) {
  for (const BrokenImage& image : met)
    if (bad_images_.insert(image.index).second) new_bad_images_.push_back(image);
  const double most = options_.bad_images.limit * static_cast<double>(images_);
  if (static_cast<double>(bad_images()) <= most) return;
  throw TooManyBadImages(
      "loader: " + std::to_string(bad_images()) + " of " + std::to_string(images_) +
      " images are broken, the last: " + (met.empty() ? "" : met.back().message));
}

std::vector<BrokenImage> Loader::take_bad_images() { return std::exchange(new_bad_images_, {}); }

}  // namespace fovea
