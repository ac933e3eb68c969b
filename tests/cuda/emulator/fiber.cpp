// Stack switching: in assembly on x86-64, because a kernel step is shorter than swapcontext's two
// system calls; by swapcontext elsewhere.
#include "tests/cuda/emulator/fiber.h"

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define FOVEA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FOVEA_ASAN 1
#endif
#endif
#ifdef FOVEA_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef __x86_64__
// Saves the callee-saved registers and the stack pointer, then switches to another stack. A jump
// takes the place of ret, whose target the processor would predict from the stack that is left.
asm(R"(
.text
.type fovea_switch_stack, @function
fovea_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size fovea_switch_stack, .-fovea_switch_stack
)");
extern "C" void fovea_switch_stack(void** save, void* load);
#else
#include <ucontext.h>
#endif

namespace fovea::emulate {
namespace {

constexpr std::size_t kLine = 64;  ///< of a cache
// An odd number of cache lines, so that the used ends of a block's stacks share no set of a cache.
#ifdef FOVEA_ASAN
constexpr std::size_t kStack = 256 * 1024 + 17 * kLine;
#else
constexpr std::size_t kStack = 64 * 1024 + 17 * kLine;
#endif

}  // namespace

struct Fiber::Context {
#ifdef __x86_64__
  using Place = void*;
#else
  using Place = ucontext_t;
#endif
  Place inside{}, outside{};
  const void* outer_stack = nullptr;  ///< the resumer's stack, for AddressSanitizer
  std::size_t outer_size = 0;
};

Fiber::Fiber()
    : stack_(new std::byte[kStack]), stack_bytes_(kStack), context_(std::make_unique<Context>()) {}
Fiber::~Fiber() = default;

void Fiber::start(void (*entry)()) {
#ifdef FOVEA_ASAN
  __asan_unpoison_memory_region(stack_.get(), kStack);
#endif
#ifdef __x86_64__
  constexpr int kSaved = 6;
  auto top = (reinterpret_cast<std::uintptr_t>(stack_.get()) + kStack) / 16 * 16;
  auto* const slots = reinterpret_cast<void**>(top) - kSaved - 2;  // the ABI's alignment
  for (int i = 0; i < kSaved; ++i) slots[i] = nullptr;
  slots[kSaved] = reinterpret_cast<void*>(entry);
  slots[kSaved + 1] = nullptr;  // return address of entry, which never returns
  context_->inside = slots;
#else
  getcontext(&context_->inside);
  context_->inside.uc_stack.ss_sp = stack_.get();
  context_->inside.uc_stack.ss_size = kStack;
  makecontext(&context_->inside, entry, 0);
#endif
}

void Fiber::resume() {
#ifdef FOVEA_ASAN
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_.get(), kStack);
#endif
#ifdef __x86_64__
  fovea_switch_stack(&context_->outside, context_->inside);
#else
  swapcontext(&context_->outside, &context_->inside);
#endif
#ifdef FOVEA_ASAN
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::entered() {
#ifdef FOVEA_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &context_->outer_stack, &context_->outer_size);
#endif
}

void Fiber::suspend() {
#ifdef FOVEA_ASAN
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, context_->outer_stack, context_->outer_size);
#endif
#ifdef __x86_64__
  fovea_switch_stack(&context_->inside, context_->outside);
#else
  swapcontext(&context_->inside, &context_->outside);
#endif
#ifdef FOVEA_ASAN
  __sanitizer_finish_switch_fiber(fake, &context_->outer_stack, &context_->outer_size);
#endif
}

}  // namespace fovea::emulate
