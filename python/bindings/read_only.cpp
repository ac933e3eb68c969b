// The addresses of storages that are lent for reading.
#include "python/bindings/read_only.h"

#include <mutex>
#include <set>

#include "engine/base/error.h"

namespace fovea::python {
namespace {

std::mutex mutex;
std::multiset<const std::byte*>& lent() {
  static auto* const all = new std::multiset<const std::byte*>;  // NOLINT: outlives every tensor
  return *all;
}

}  // namespace

void lend_read_only(const std::byte* storage) {
  const std::lock_guard lock(mutex);
  lent().insert(storage);
}

void end_read_only(const std::byte* storage) {
  const std::lock_guard lock(mutex);
  const auto found = lent().find(storage);
  if (found != lent().end()) lent().erase(found);
}

bool is_read_only(const Tensor& t) {
  const std::lock_guard lock(mutex);
  return t.numel() > 0 && lent().contains(t.storage().data());
}

void require_not_read_only(const char* op, const Tensor& t) {
  check(!is_read_only(t), op, ": the tensor shares the memory of a read-only array; clone() it");
}

}  // namespace fovea::python
