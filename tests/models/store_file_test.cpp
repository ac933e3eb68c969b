// Files of parameters of one's own layers.
#include "models/checkpoints/store_file.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "models/layers/linear.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

/// Two layers and a buffer.
struct OwnNet {
  ParameterStore store;
  Linear first, second;

  explicit OwnNet(std::uint64_t seed, std::int64_t width = 4, TensorOptions options = {})
      : store(seed, options),
        first(Scope(store) / "first", 3, width),
        second(Scope(store) / "second", width, 2) {
    static_cast<void>(Scope(store).buffer("mean", {2}, constant(static_cast<double>(seed))));
  }
};

}  // namespace

TEST_CASE("a store that was saved fills one of the same layers, buffers too") {
  const TemporaryFolder folder;
  const auto file = folder / "own.safetensors";
  const OwnNet saved(1), other(2);
  save_store(file, saved.store, {{"note", "of mine"}});
  const Metadata metadata = load_store(file, other.store);
  CHECK(value_or(metadata, "note", "") == "of mine");
  for (const char* const name : {"first.weight", "second.bias", "mean"}) {
    CHECK(other.store.find(name).to_vector() == saved.store.find(name).to_vector());
  }
}

TEST_CASE("a store of other layers is refused with every difference, and keeps its values") {
  const TemporaryFolder folder;
  const auto file = folder / "own.safetensors";
  save_store(file, OwnNet(1).store);
  OwnNet wider(2, 5);
  static_cast<void>(Scope(wider.store).param("scale", {3}, constant(1)));
  const auto before = wider.store.find("second.bias").to_vector();
  CHECK_THROWS_WITH_AS(load_store(file, wider.store),
                       doctest::Contains("4 tensors of it differ: first.bias is f32 [4], expected "
                                         "f32 [5]; first.weight is f32 [4, 3], expected f32 [5, "
                                         "3]; missing scale [3]; second.weight is"),
                       Error);
  CHECK(wider.store.find("second.bias").to_vector() == before);
  const OwnNet exact(2, 4, {DType::f64, {}});
  CHECK_THROWS_WITH_AS(load_store(file, exact.store), doctest::Contains("expected f64"), Error);
}

}  // namespace fovea
