// One entry of a table of kernels: engine/kernels.h has the engine's, ops/kernels.h that of ops.
// And what this thread is doing, for the errors of a device.
#pragma once

#include <utility>

#include "base/error.h"

namespace fovea {

/// The op that this thread was called for, as static text; "" outside of one.
[[nodiscard]] inline const char*& running_op() {
  thread_local const char* op = "";
  return op;
}

/// Names an op while it lives, unless it is a part of another: errors name what was called. `op` is
/// static text.
class RunningOp {
 public:
  explicit RunningOp(const char* op) : caller_(running_op()) {
    if (!is_part()) running_op() = op;
  }
  ~RunningOp() { running_op() = caller_; }
  RunningOp(const RunningOp&) = delete;
  RunningOp& operator=(const RunningOp&) = delete;

  [[nodiscard]] bool is_part() const { return *caller_ != '\0'; }

 private:
  const char* caller_;
};

/// While it lives, ops are named as if none were running: for what runs ops of its own within one.
class OpsOfTheirOwn {
 public:
  OpsOfTheirOwn() : caller_(std::exchange(running_op(), "")) {}
  ~OpsOfTheirOwn() { running_op() = caller_; }
  OpsOfTheirOwn(const OpsOfTheirOwn&) = delete;
  OpsOfTheirOwn& operator=(const OpsOfTheirOwn&) = delete;

 private:
  const char* caller_;
};

/// Whose table this thread asked for last, as in "is not implemented on ...": static text.
[[nodiscard]] inline const char*& kernels_place() {
  thread_local const char* place = "this device";
  return place;
}

inline constexpr const char* kCudaPlace = "CUDA; move its tensors to the CPU with to(Device{})";

/// What a device does for one kind of call; null where it has no form of it. `Call` holds plain
/// pointers, sizes and strides.
template <class Call>
class Kernel {
 public:
  using Function = void (*)(const Call&);

  constexpr Kernel() = default;
  constexpr Kernel(Function run) : run_(run) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] explicit operator bool() const { return run_ != nullptr; }
  /// Throws where it is null.
  void operator()(const Call& call) const {
    check(run_ != nullptr, *running_op() == '\0' ? "this kernel" : running_op(),
          " is not implemented on ", kernels_place());
    run_(call);
  }

 private:
  Function run_ = nullptr;
};

}  // namespace fovea
