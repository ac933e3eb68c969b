// Writes files in a thread of its own, so that training need not wait for the disk.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace fovea {

/// Jobs are done one after another in the order in which they came. Only one may wait: whoever
/// comes sooner waits for the one before, so that memory stays bounded.
class BackgroundWriter {
 public:
  BackgroundWriter();
  /// Does what is left. What goes wrong then is lost: call finish() before.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Rethrows what went wrong with an earlier job.
  void submit(std::function<void()> job);
  /// Waits until all is done. Rethrows what went wrong.
  void finish();

 private:
  void run();
  void wait_until_idle(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::function<void()> job_;  ///< waiting or under way; empty: none
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fovea
