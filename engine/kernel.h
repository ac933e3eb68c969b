// One entry of a table of kernels: engine/kernels.h has the engine's, ops/kernels.h that of ops.
#pragma once

#include <utility>

#include "base/error.h"

namespace fovea {

/// The op whose kernel this thread is calling, for the errors of a device; "" outside of one.
[[nodiscard]] inline const char*& running_op() {
  thread_local const char* op = "";
  return op;
}

/// Names an op while it lives.
class RunningOp {
 public:
  explicit RunningOp(const char* op) : caller_(std::exchange(running_op(), op)) {}
  ~RunningOp() { running_op() = caller_; }
  RunningOp(const RunningOp&) = delete;
  RunningOp& operator=(const RunningOp&) = delete;

 private:
  const char* caller_;
};

/// What a device does for one kind of call; null where it has no form of it yet. `Call` holds plain
/// pointers, sizes and strides, and the name of its op: `static constexpr const char* kOp`.
template <class Call>
class Kernel {
 public:
  using Function = void (*)(const Call&);

  constexpr Kernel() = default;
  constexpr Kernel(Function run) : run_(run) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] explicit operator bool() const { return run_ != nullptr; }
  /// Throws where it is null.
  void operator()(const Call& call) const {
    check(run_ != nullptr, Call::kOp,
          ": has no CUDA form yet; move its tensors to the CPU with to(Device{})");
    const RunningOp naming(Call::kOp);
    run_(call);
  }

 private:
  Function run_ = nullptr;
};

}  // namespace fovea
