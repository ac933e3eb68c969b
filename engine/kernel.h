// Kernel: one entry of a device's kernel table (the tables are in engine/kernels.h and
// ops/kernels.h). Also records the op that this thread is running, for error messages.
#pragma once

#include <utility>

#include "engine/base/error.h"

namespace fovea {

/// The op that this thread is running, as static text; "" outside of any op.
[[nodiscard]] inline const char*& running_op() {
  thread_local const char* op = "";
  return op;
}

/// Names the running op while it is alive. Ops within another op are ignored, so errors name the
/// op that the caller called. `op` is static text.
class RunningOp {
 public:
  explicit RunningOp(const char* op) : caller_(running_op()) {
    if (!is_part()) running_op() = op;
  }
  ~RunningOp() { running_op() = caller_; }
  RunningOp(const RunningOp&) = delete;
  RunningOp& operator=(const RunningOp&) = delete;

  /// True if this op runs within another op.
  [[nodiscard]] bool is_part() const { return *caller_ != '\0'; }

 private:
  const char* caller_;
};

/// While it is alive, ops are named as if no op were running, for code that runs independent ops
/// within one.
class OpsOfTheirOwn {
 public:
  OpsOfTheirOwn() : caller_(std::exchange(running_op(), "")) {}
  ~OpsOfTheirOwn() { running_op() = caller_; }
  OpsOfTheirOwn(const OpsOfTheirOwn&) = delete;
  OpsOfTheirOwn& operator=(const OpsOfTheirOwn&) = delete;

 private:
  const char* caller_;
};

/// The device of the kernel table that this thread requested last, as static text. Completes the
/// message "... is not implemented on".
[[nodiscard]] inline const char*& kernels_place() {
  thread_local const char* place = "this device";
  return place;
}

/// The text of kernels_place() for CUDA, with advice.
inline constexpr const char* kCudaPlace = "CUDA; move its tensors to the CPU with to(Device{})";

/// A device's implementation of one kind of call; null where the device has none. `Call` holds
/// plain pointers, sizes and strides.
template <class Call>
class Kernel {
 public:
  using Function = void (*)(const Call&);

  constexpr Kernel() = default;
  constexpr Kernel(Function run) : run_(run) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] explicit operator bool() const { return run_ != nullptr; }
  /// Throws when the kernel is null.
  void operator()(const Call& call) const {
    check(run_ != nullptr, *running_op() == '\0' ? "this kernel" : running_op(),
          " is not implemented on ", kernels_place());
    run_(call);
  }

 private:
  Function run_ = nullptr;
};

}  // namespace fovea
