// Weights in several files under an index: whole sets, and indexes that lie.
#include "engine/formats/sharded.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "engine/formats/weights_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_state.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

/// A folder with the shards a (x, y) and b (z), and an index of the given content.
class Hub {
 public:
  explicit Hub(const std::string& map) {
    write_safetensors(folder_ / "a.safetensors", {{"x", full({2}, 1)}, {"y", full({1}, 2)}});
    write_safetensors(folder_ / "b.safetensors", {{"z", full({3}, 3)}});
    write_file_atomically(index(),
                          R"({"metadata": {"total_size": 24}, "weight_map": )" + map + "}");
  }
  [[nodiscard]] fs::path index() const { return folder_ / kIndex; }
  [[nodiscard]] fs::path operator/(const char* name) const { return folder_ / name; }
  [[nodiscard]] std::string message() const {
    return message_of([&] { static_cast<void>(read_weights(index())); });
  }

 private:
  TemporaryFolder folder_;
};

constexpr const char* kMap =
    R"({"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"})";

}  // namespace

TEST_CASE("the files of an index are one set") {
  const Hub hub(kMap);
  const WeightsFile all = read_weights(hub.index());
  CHECK(all.tensors.size() == 3);
  CHECK(all.tensors.at("z").to_vector() == std::vector<double>{3, 3, 3});
  CHECK(list_weights(hub.index()).entries.size() == 3);
  CHECK(contains(read_weights(hub.index(), "model").note, "contains a single set"));
  // Of older hubs: torch.save's. Shards may be links, as in the hubs' caches.
  PyStorages first, second;
  write_file_atomically(hub / "1.bin", torch_zip(torch_state({{"x", full({2}, 1)}}, first), first));
  write_file_atomically(hub / "blob",
                        torch_zip(torch_state({{"y", full({2}, 2)}}, second), second));
  fs::create_symlink("blob", hub / "2.bin");
  write_file_atomically(hub / "pytorch_model.bin.index.json",
                        R"({"weight_map": {"x": "1.bin", "y": "2.bin"}})");
  CHECK(read_weights(hub / "pytorch_model.bin.index.json").tensors.size() == 2);
}

TEST_CASE("missing files are listed") {
  const Hub hub(R"({"x": "a.safetensors", "z": "c.safetensors", "w": "d.safetensors"})");
  CHECK(contains(hub.message(),
                 "2 of its 3 files are missing in the folder: \"c.safetensors\", "
                 "\"d.safetensors\"; download the whole set"));
  const Hub loop(R"({"x": "a.safetensors", "z": "loop"})");
  fs::create_symlink("loop", loop / "loop");
  CHECK(contains(loop.message(), "1 of its 2 files are missing in the folder: \"loop\""));
}

TEST_CASE("files that contain other tensors than the index lists are refused") {
  CHECK(contains(Hub(R"({"x": "a.safetensors", "z": "b.safetensors"})").message(),
                 "contains \"y\", which the index does not list"));
  CHECK(contains(
      Hub(R"({"x": "a.safetensors", "y": "b.safetensors", "z": "b.safetensors"})").message(),
      "contains \"y\", which the index places in \"b.safetensors\""));
  CHECK(contains(
      Hub(R"({"x": "a.safetensors", "y": "a.safetensors", "w": "b.safetensors"})").message(),
      "contains \"z\", which the index does not list"));
  const std::string more =
      R"({"x": "a.safetensors", "y": "a.safetensors", "w": "b.safetensors", "z": "b.safetensors"})";
  CHECK(contains(Hub(more).message(), "lacks \"w\", which model.safetensors.index.json places in"));
}

TEST_CASE("hostile indexes are refused") {
  for (const char* const shard : {"../a.safetensors", "/etc/passwd", "sub/a.safetensors", "..", ".",
                                  "", "a\\\\b", "a\\u0000b"}) {
    CAPTURE(std::string(shard));
    CHECK(contains(Hub(R"({"x": ")" + std::string(shard) + R"("})").message(),
                   "expected the name of a file in the same folder"));
  }
  CHECK(contains(Hub(R"({"x": "model.safetensors.index.json"})").message(), "names itself"));
  const Hub other(R"({"x": "b.index.json"})");
  write_file_atomically(other / "b.index.json", R"({"weight_map": {"x": "a.safetensors"}})");
  CHECK(contains(other.message(), "is an index too"));
  const Hub pointer(R"({"x": "p.safetensors"})");
  write_file_atomically(pointer / "p.safetensors", "version https://git-lfs.github.com/spec/v1\n");
  CHECK(contains(pointer.message(), "p.safetensors: is a Git LFS pointer"));
  CHECK(contains(Hub(R"({"x": "a.safetensors", "x": "b.safetensors"})").message(),
                 "gives \"x\" twice"));
  CHECK(contains(Hub("[]").message(), "has no object weight_map"));
  CHECK(contains(Hub("{}").message(), "lists no tensors"));
  CHECK(contains(Hub(R"({"x": 5})").message(), "gives 5 for \"x\""));
  CHECK(contains(Hub("{").message(), "is not JSON"));
  CHECK(contains(Hub(std::string(100'000, '[')).message(), "is not JSON, or nested too deeply"));
}
