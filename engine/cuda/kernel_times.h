// How long each kernel runs, for benchmarks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fovea::cuda {

struct KernelTime {
  std::string name;  ///< of the kernel, or "cuBLASLt" and the op of a product
  std::int64_t launches = 0;
  double seconds = 0;
};

/// While it is alive, each kernel and product runs between two events on its stream; what the start
/// of a kernel costs there is part of its time. At most one may exist, and no graph may be
/// captured.
class KernelTimes {
 public:
  KernelTimes();
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;

  /// Waits for all kernels so far and sums them by name, the longest first.
  [[nodiscard]] std::vector<KernelTime> sums() const;

 private:
  struct Launches;
  friend class KernelSpan;

  std::unique_ptr<Launches> launches_;
};

/// The launch of a kernel, from construction to destruction. Without a live KernelTimes nothing is
/// recorded.
class KernelSpan {
 public:
  /// `kernel` null: a product of cuBLASLt.
  KernelSpan(const void* kernel, void* stream);
  ~KernelSpan();
  KernelSpan(const KernelSpan&) = delete;
  KernelSpan& operator=(const KernelSpan&) = delete;

 private:
  struct Launch;
  friend class KernelTimes;

  std::unique_ptr<Launch> launch_;
};

}  // namespace fovea::cuda
