// Work on a thread of its own, such as sending gradients while the backward pass still runs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace fovea {

/// Runs tasks one after another, in the order given, on one thread, whose parallel loops stay on
/// it. The thread starts with the first task.
class Background {
 public:
  Background() = default;
  ~Background();  ///< waits for the running task and drops the others
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void run(std::function<void()> task);
  /// Returns when all tasks have ended. Throws the error of the first that failed; those after it
  /// were dropped.
  void finish();
  [[nodiscard]] bool is_busy();
  /// Seconds that tasks have taken so far. Call it after finish().
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void work();
  void perform(const std::function<void()>& task);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false, stopping_ = false;
  std::exception_ptr error_;
  double seconds_ = 0;
  std::thread thread_;
};

}  // namespace fovea
