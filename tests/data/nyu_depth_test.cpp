// NYU's labelled depth file: a small one of its form, written by h5py
// (tests/interop/depth_files.py --fixtures).
#include "data/sources/dense/nyu/nyu_depth.h"

#include <doctest/doctest.h>

#include <thread>

#include "data/sources/verify.h"
#include "engine/base/files.h"
#include "tests/data/photographs.h"
#include "tests/support/matlab_bytes.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

namespace fs = std::filesystem;

const fs::path kFiles = FOVEA_SOURCE_DIR "/tests/data/hdf5_files";
constexpr ImageSize kNyuSize{3, 5};

std::shared_ptr<const Dataset> open_nyu(const fs::path& root, Split split) {
  return open_dataset(photographs(root, "nyu"), split);
}
std::string nyu_error(const fs::path& root) {
  return message_of([&] {
    const auto set = open_nyu(root, Split::train);
    for (std::int64_t i = 0; i < set->size(); ++i) static_cast<void>(set->get(i));
  });
}

#if FOVEA_HAS_HDF5

/// Checks image `number` of the file, from 0 on, whose values are a formula of their place.
void check_sample(const Sample& sample, std::int64_t number, bool has_raw) {
  REQUIRE(sample.image.size() == kNyuSize);
  REQUIRE(sample.targets.maps.size() == (has_raw ? 2 : 1));
  for (const DenseMap& map : sample.targets.maps) {
    CHECK(map.filter == Filter::nearest);
    REQUIRE(map.values.size() == kNyuSize);
  }
  CHECK(sample.targets.maps[0].name == "depth");
  for (std::int64_t y = 0; y < kNyuSize.height; ++y) {
    for (std::int64_t x = 0; x < kNyuSize.width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c)
        CHECK(sample.image.at(y, x)[c] == (61 * number + 101 * c + 7 * x + 13 * y) % 256);
      const double metres = 0.5 + static_cast<double>(number) + static_cast<double>(x) / 4 +
                            static_cast<double>(y) / 32;
      CHECK(*sample.targets.maps[0].values.values<float>(y, x) == metres);
      if (!has_raw) continue;
      CHECK(sample.targets.maps[1].name == "raw_depth");
      CHECK(*sample.targets.maps[1].values.values<float>(y, x) == ((x + y) % 3 == 0 ? 0 : metres));
    }
  }
}

#endif

}  // namespace

#if FOVEA_HAS_HDF5
TEST_CASE("NYU's columns become rows, and its numbers count from 1") {
  const auto train = open_nyu(kFiles, Split::train), test = open_nyu(kFiles, Split::test);
  REQUIRE(train->size() == 2);
  REQUIRE(test->size() == 2);
  CHECK(train->image_size() == kNyuSize);
  check_sample(train->get(0), 0, false);
  check_sample(train->get(1), 3, false);
  check_sample(test->get(0), 1, true);
  check_sample(test->get(1), 2, true);
  CHECK(contains(train->describe(1), "nyu_depth_v2_labeled.mat: image 4"));
  CHECK(contains(train->notice(), "4 images, the official set has 1449"));
  CHECK(verify_dataset(*test).empty());
}

TEST_CASE("threads read a file by turns") {
  const auto test = open_nyu(kFiles, Split::test);
  const Sample first = test->get(0), second = test->get(1);
  std::vector<int> equal(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < equal.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const Sample sample = test->get(static_cast<std::int64_t>(t % 2));
        equal[t] += sample.targets == (t % 2 == 0 ? first : second).targets;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(equal == std::vector<int>{20, 20, 20, 20});
}

TEST_CASE("damaged files of NYU's form are refused") {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  CHECK(contains(nyu_error(root), "has no nyu_depth_v2_labeled.mat"));
  const std::string whole = read_file(kFiles / "nyu/nyu_depth_v2_labeled.mat");
  const std::string splits = read_file(kFiles / "nyu/splits.mat");
  const auto put = [&](const std::string& labelled, const std::string& lists) {
    write_file_atomically(root / "nyu_depth_v2_labeled.mat", labelled);
    write_file_atomically(root / "splits.mat", lists);
    return nyu_error(root);
  };
  CHECK(put(whole, splits).empty());
  for (std::size_t size = 0; size < whole.size(); size += 997) {
    CAPTURE(size);
    CHECK_FALSE(put(whole.substr(0, size), splits).empty());
  }
  CHECK(contains(put("MATLAB 5.0", splits), "cannot be opened as an HDF5 file"));
  CHECK(contains(put(whole, "MATLAB"), "splits.mat: has 6 bytes"));
  const MatlabWriter write;
  const auto lists = [&](const std::vector<std::uint16_t>& train) {
    return write.file({write.row("trainNdxs", train), write.row("testNdxs", {2})});
  };
  CHECK(put(whole, lists({1, 3})).empty());
  CHECK(contains(put(whole, lists({5})), "contains 5, expected whole numbers from 1 to 4"));
  CHECK(contains(put(whole, lists({3, 3})), "image 3 is in \"trainNdxs\" twice"));
  CHECK(contains(put(whole, lists({1, 2})), "image 2 is in \"testNdxs\" and in \"trainNdxs\""));
  CHECK(
      contains(put(whole, write.file({write.row("trainNdxs", {1})})), "no variable \"testNdxs\""));
  fs::remove(root / "splits.mat");
  CHECK(contains(nyu_error(root), "splits.mat: does not exist"));
}
#else
TEST_CASE("a build without libhdf5 names the package") {
  CHECK(contains(nyu_error(kFiles), "install libhdf5-dev"));
}
#endif
