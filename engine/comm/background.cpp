// Queues, and the threads that empty them.
#include "engine/comm/background.h"

#include <algorithm>
#include <utility>

#include "engine/parallel.h"

namespace fovea {

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    drop_tasks();
  }
  changed_.notify_all();
  for (Lane& lane : lanes_) {
    if (lane.thread.joinable()) lane.thread.join();
  }
}

void Background::run(std::size_t number, Task task) {
  Lane& lane = lanes_.at(number);
  if (!lane.thread.joinable()) lane.thread = std::thread([this, &lane] { work(lane); });
  {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) lane.tasks.push_back(std::move(task));
  }
  changed_.notify_all();
}

void Background::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_idle(); });
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

bool Background::is_busy() {
  const std::lock_guard lock(mutex_);
  return !is_idle();
}

bool Background::is_idle() const {
  return running_ == 0 && std::all_of(lanes_.begin(), lanes_.end(),
                                      [](const Lane& lane) { return lane.tasks.empty(); });
}

void Background::drop_tasks() {
  for (Lane& lane : lanes_) lane.tasks.clear();
}

void Background::work(Lane& lane) {
  const OneThread alone;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !lane.tasks.empty(); });
    if (stopping_) return;
    const Task task = std::move(lane.tasks.front());
    lane.tasks.pop_front();
    if (running_++ == 0) since_ = Clock::now();
    lock.unlock();
    std::exception_ptr error;
    try {
      task();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    note_end(error);
  }
}

void Background::note_end(std::exception_ptr error) {
  if (--running_ == 0) {
    seconds_ += std::chrono::duration<double>(Clock::now() - since_).count();
  }
  if (error != nullptr) {
    if (error_ == nullptr) error_ = std::move(error);
    drop_tasks();
  }
  changed_.notify_all();
}

}  // namespace fovea
