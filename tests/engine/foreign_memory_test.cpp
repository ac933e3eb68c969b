// Tensors on memory that someone else owns.
#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "engine/copy.h"
#include "engine/foreign_memory.h"
#include "engine/tensor.h"
#include "tests/support/errors.h"

using namespace fovea;

namespace {

struct Owner {
  alignas(64) std::array<float, 7> values{0, 1, 2, 3, 4, 5, 6};
  int released = 0;

  /// [2, 3] from the second value on: aligned as floats are, and no more.
  Tensor tensor() {
    return from_memory(
        {.data = values.data() + 1, .shape = {2, 3}, .release = [this] { ++released; }});
  }
};

}  // namespace

TEST_CASE("memory of another owner is released once, when the last handle is gone") {
  Owner owner;
  {
    Tensor t = owner.tensor();
    CHECK(t.raw() == reinterpret_cast<std::byte*>(owner.values.data() + 1));
    Tensor view = t.alias({2}, {3}, 2);
    const Tensor same = t;
    t = {};
    CHECK(owner.released == 0);
    CHECK(view.to_vector() == std::vector<double>{3, 6});
    view = {};
    CHECK(owner.released == 0);
  }
  CHECK(owner.released == 1);
  { const Tensor kept = from_memory({.data = owner.values.data(), .shape = {7}}); }
  CHECK(owner.released == 1);
}

TEST_CASE("ops read and write memory of another owner") {
  Owner owner;
  const MemoryStats before = memory_stats();
  const Tensor t = owner.tensor();
  CHECK(memory_stats().current_bytes == before.current_bytes);
  CHECK(t.is_contiguous());
  CHECK(sum_to(t, {}).item() == 21);
  const std::uint64_t version = t.version();
  add_into(t, t.clone());
  CHECK(t.version() != version);
  CHECK(owner.values == std::array<float, 7>{0, 2, 4, 6, 8, 10, 12});
  t.fill_(1);
  CHECK(owner.values == std::array<float, 7>{0, 1, 1, 1, 1, 1, 1});
  owner.values[6] = 5;
  CHECK(t.at(5) == 5);
  CHECK(!t.storage().unique());  // gradients are not added up in it
}

TEST_CASE("strides may have any sign, and count from the first element") {
  Owner owner;
  const Tensor reversed =
      from_memory({.data = owner.values.data() + 6, .shape = {2, 3}, .strides = Strides{-3, -1}});
  CHECK(reversed.to_vector() == std::vector<double>{6, 5, 4, 3, 2, 1});
  const Tensor repeated =
      from_memory({.data = owner.values.data() + 2, .shape = {2, 2}, .strides = Strides{0, 1}});
  CHECK(repeated.to_vector() == std::vector<double>{2, 3, 2, 3});
  CHECK(repeated.storage().bytes() == 2 * sizeof(float));
}

TEST_CASE("memory that cannot be used is refused, and stays its owner's") {
  Owner owner;
  const auto refused = [&](ForeignMemory memory, const std::string& why) {
    memory.release = [&] { ++owner.released; };
    tests::check_error([&] { (void)from_memory(memory); }, why);
  };
  std::byte* const bytes = reinterpret_cast<std::byte*>(owner.values.data());
  refused({.data = bytes + 2, .shape = {2}}, "not a multiple of 4; copy their bytes");
  refused({.data = nullptr, .shape = {2}}, "got no memory for shape [2]");
  refused({.data = bytes, .shape = {2, 3}, .strides = Strides{1}}, "got strides [1]");
  refused({.data = bytes, .shape = {3, 2}, .strides = Strides{1LL << 62, 1}}, "beyond 64 bits");
  CHECK(owner.released == 0);
  CHECK(from_memory({.data = bytes + 2, .shape = {2}, .options = {DType::bf16, {}}}).numel() == 2);
  CHECK(from_memory({.data = nullptr, .shape = {0, 3}}).numel() == 0);
}
