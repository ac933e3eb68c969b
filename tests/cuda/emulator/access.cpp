// The functions that -fsanitize=thread calls before each memory access, forwarded to the machine
// while a kernel runs. Nothing here is compiled with that flag, and ThreadSanitizer's own library
// is not linked. (Linux's KCSAN uses the compiler's instrumentation in the same way.)
#include "tests/cuda/emulator/machine.h"

namespace {

using fovea::emulate::Access;
using fovea::emulate::Machine;
using fovea::emulate::running;

inline void access(void* address, std::size_t bytes, Access kind, const void* place) {
  const bool is_checked = running.in_kernel && !running.stack.holds(address);
  if (is_checked) Machine::instance().access(address, bytes, kind, place);
}

}  // namespace

#define FOVEA_ACCESS(name, bytes, kind) \
  void __tsan_##name(void* address) { access(address, bytes, kind, __builtin_return_address(0)); }
#define FOVEA_ACCESSES(bytes)                               \
  FOVEA_ACCESS(read##bytes, bytes, Access::read)            \
  FOVEA_ACCESS(write##bytes, bytes, Access::write)          \
  FOVEA_ACCESS(volatile_read##bytes, bytes, Access::read)   \
  FOVEA_ACCESS(volatile_write##bytes, bytes, Access::write) \
  FOVEA_ACCESS(unaligned_read##bytes, bytes, Access::read)  \
  FOVEA_ACCESS(unaligned_write##bytes, bytes, Access::write)

extern "C" {
FOVEA_ACCESSES(1)
FOVEA_ACCESSES(2)
FOVEA_ACCESSES(4)
FOVEA_ACCESSES(8)
FOVEA_ACCESSES(16)

void __tsan_read_range(void* address, std::size_t bytes) {
  access(address, bytes, Access::read, __builtin_return_address(0));
}
void __tsan_write_range(void* address, std::size_t bytes) {
  access(address, bytes, Access::write, __builtin_return_address(0));
}
// Host code in these sources uses atomics for reference counts and static guards.
#define FOVEA_ATOMIC_UPDATE(bits, type, name)                             \
  type __tsan_atomic##bits##_##name(volatile type* at, type value, int) { \
    return __atomic_##name(at, value, __ATOMIC_SEQ_CST);                  \
  }
#define FOVEA_ATOMIC_COMPARE(bits, type, name)                                                     \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile type* at, type* expected, type value, \
                                                    int, int) {                                    \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,               \
                                       __ATOMIC_SEQ_CST);                                          \
  }
#define FOVEA_ATOMICS(bits, type)                                           \
  type __tsan_atomic##bits##_load(const volatile type* at, int) {           \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                           \
  }                                                                         \
  void __tsan_atomic##bits##_store(volatile type* at, type value, int) {    \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                          \
  }                                                                         \
  type __tsan_atomic##bits##_exchange(volatile type* at, type value, int) { \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                \
  }                                                                         \
  FOVEA_ATOMIC_UPDATE(bits, type, fetch_add)                                \
  FOVEA_ATOMIC_UPDATE(bits, type, fetch_sub)                                \
  FOVEA_ATOMIC_UPDATE(bits, type, fetch_and)                                \
  FOVEA_ATOMIC_UPDATE(bits, type, fetch_or)                                 \
  FOVEA_ATOMIC_COMPARE(bits, type, strong)                                  \
  FOVEA_ATOMIC_COMPARE(bits, type, weak)
FOVEA_ATOMICS(8, std::uint8_t)
FOVEA_ATOMICS(32, std::uint32_t)
FOVEA_ATOMICS(64, std::uint64_t)

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
