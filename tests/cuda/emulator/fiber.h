// A fiber, a function that can be suspended and resumed: one thread of a block.
#pragma once

#include <cstddef>
#include <memory>

namespace fovea::emulate {

class Fiber {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// The next resume() enters `entry` anew, whatever was left unfinished. Its first act is
  /// entered(), its last suspend(): it must never return.
  void start(void (*entry)());
  void entered();
  void resume();   ///< runs it until it calls suspend()
  void suspend();  ///< called within: goes on behind resume()

  [[nodiscard]] bool holds(const void* address) const;  ///< on its stack

 private:
  struct Context;

  std::unique_ptr<std::byte[]> stack_;
  std::unique_ptr<Context> context_;
};

}  // namespace fovea::emulate
