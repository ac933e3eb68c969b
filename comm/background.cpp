// A queue and the thread that empties it.
#include "comm/background.h"

#include <chrono>
#include <utility>

#include "engine/parallel.h"

namespace fovea {

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::run(std::function<void()> task) {
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void Background::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

bool Background::is_busy() {
  const std::lock_guard lock(mutex_);
  return busy_ || !tasks_.empty();
}

void Background::work() {
  const OneThread alone;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    perform(task);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Background::perform(const std::function<void()>& task) {
  const auto start = std::chrono::steady_clock::now();
  try {
    task();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    tasks_.clear();
  }
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace fovea
