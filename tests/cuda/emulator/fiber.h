// A fiber, a function that can be suspended and resumed: one thread of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fovea::emulate {

struct FiberStack {
  std::uintptr_t first = 0;
  std::size_t bytes = 0;
  [[nodiscard]] bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - first < bytes;
  }
};

class Fiber {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Makes the next resume() start `entry` from its beginning, whatever was left unfinished.
  /// `entry` must first call entered() and last suspend(); it must never return.
  void start(void (*entry)());
  void entered();
  void resume();   ///< runs the fiber until it calls suspend()
  void suspend();  ///< called inside; returns at the next resume()

  [[nodiscard]] FiberStack stack() const {
    return {reinterpret_cast<std::uintptr_t>(stack_.get()), stack_bytes_};
  }

 private:
  struct Context;

  std::unique_ptr<std::byte[]> stack_;
  std::size_t stack_bytes_;
  std::unique_ptr<Context> context_;
};

}  // namespace fovea::emulate
