// Work on threads of their own, such as sending gradients while the backward pass still runs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fovea {

/// Runs tasks in lanes. A lane is a thread, which starts with its first task; it runs its tasks one
/// after another in the order given, and their parallel loops stay on it.
class Background {
 public:
  using Task = std::function<void()>;

  explicit Background(std::size_t lanes = 1) : lanes_(lanes) {}
  ~Background();  ///< waits for the running tasks and drops the others
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void run(std::size_t lane, Task task);
  /// Returns when all tasks have ended. Throws the error of the first that failed; those that had
  /// not begun by then were dropped.
  void finish();
  [[nodiscard]] bool is_busy();
  /// Seconds in which any task ran. Call it after finish().
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Lane {
    std::deque<Task> tasks;
    std::thread thread;
  };

  [[nodiscard]] bool is_idle() const;
  void drop_tasks();
  void work(Lane& lane);
  void note_end(std::exception_ptr error);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Lane> lanes_;
  std::size_t running_ = 0;  ///< tasks
  Clock::time_point since_;  ///< of the first that runs
  bool stopping_ = false;
  std::exception_ptr error_;
  double seconds_ = 0;
};

}  // namespace fovea
