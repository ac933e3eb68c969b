// A background thread for writing files, so that training does not wait for the disk.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace fovea {

/// Runs jobs in the order of submission. At most one job waits: submitting another blocks, so
/// memory stays bounded.
class BackgroundWriter {
 public:
  BackgroundWriter();
  /// Finishes pending jobs. Their errors are lost: call finish() first.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Rethrows errors of an earlier job.
  void submit(std::function<void()> job);
  /// Waits until all jobs are done. Rethrows their errors.
  void finish();

 private:
  void run();
  void wait_until_idle(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::function<void()> job_;  ///< waiting or running job; empty: none
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fovea
