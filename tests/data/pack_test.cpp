// Packed data sets: the same images as those they were made of, and no damage unnoticed.
#include "data/sources/packed/pack.h"

#include <doctest/doctest.h>

#include "data/geometry/transforms.h"
#include "data/sources/verify.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using namespace tests;

struct Made {
  TemporaryFolder folder;
  std::shared_ptr<const Dataset> source;

  explicit Made(const PackOptions& options = {}) {
    make_class_folders(folder / "set");
    source = open_dataset(photographs(folder / "set", "folder"), Split::train);
    write_pack(folder / "train.pack", *source, options);
  }
  [[nodiscard]] std::shared_ptr<const Dataset> open() const {
    return open_dataset(photographs(folder.path(), "pack"), Split::train);
  }
};

std::string pack_error(const std::string& bytes) {
  return message_of([&] { (void)pack::read_contents(MemoryBytes(bytes, "pack"), "pack"); });
}

}  // namespace

TEST_CASE("a pack holds the images it was made of, as files or as pixels") {
  for (const bool as_pixels : {false, true}) {
    CAPTURE(as_pixels);
    PackOptions options;
    options.as_pixels = as_pixels;
    const Made made(options);
    const auto packed = made.open();
    REQUIRE(packed->size() == 6);
    CHECK(packed->class_names() == made.source->class_names());
    CHECK(packed->file(0).has_value() != as_pixels);
    const ChooseBox choose = [](ImageSize size) { return PixelBox{2, size.height, 5, 20}; };
    for (int i = 0; i < 6; ++i) {
      CHECK(packed->get(i).image == numbered_image(i));
      CHECK(packed->get(i).label == made.source->label(i));
      CHECK(packed->get(i, choose, {}).image == made.source->get(i, choose, {}).image);
    }
    CHECK(verify_dataset(*packed).empty());
  }
}

TEST_CASE("images are shrunk to a short side") {
  PackOptions options;
  options.as_pixels = true;
  options.short_side = 22;
  std::int64_t done = 0;
  options.on_progress = [&](std::int64_t count) {
    done = count;
    return true;
  };
  const Made made(options);
  const auto packed = made.open();
  CHECK(done == 6);
  CHECK(packed->get(0).image == numbered_image(0));  // 20 x 31: short enough
  const Image shrunk = packed->get(5).image;         // 25 x 31
  CHECK(shrunk == resize(numbered_image(5), {22, 27}));
}

TEST_CASE("shrunk images can be JPEG files" * doctest::skip(FOVEA_HAS_JPEG == 0)) {
  PackOptions options;
  options.short_side = 10;
  const Made made(options);
  const auto packed = made.open();
  CHECK(packed->file(0).has_value());
  CHECK(packed->get(0).image.height == 10);
  CHECK(packed->get(0).image.width == 16);
}

TEST_CASE("every changed or missing byte of a pack is noticed") {
  const Made made;
  const std::string bytes = read_file(made.folder / "train.pack");
  REQUIRE(pack_error(bytes).empty());
  const auto contents = pack::read_contents(MemoryBytes(bytes, "pack"), "pack");
  const std::size_t index = contents.entries.back().offset + contents.entries.back().length;
  for (std::size_t i = index; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 4);
    CAPTURE(i);
    const bool reserved = i >= bytes.size() - 12 && i < bytes.size() - 8;
    CHECK(pack_error(other).empty() == reserved);
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{10}, std::size_t{100}, index, bytes.size() - 1})
    CHECK_FALSE(pack_error(bytes.substr(0, size)).empty());
  CHECK(contains(pack_error(bytes.substr(0, bytes.size() - 1)), "was copying it interrupted?"));
  std::string newer = bytes;
  newer[8] = 2;
  CHECK(contains(pack_error(newer), "version 2, expected 1"));
}

TEST_CASE("a changed image is found by its checksum") {
  PackOptions options;
  options.as_pixels = true;
  const Made made(options);
  std::string bytes = read_file(made.folder / "train.pack");
  bytes[4096 * 2 + 7] ^= 1;  // inside image 1
  write_file_atomically(made.folder / "train.pack", bytes);
  const auto broken = verify_dataset(*made.open());
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].index == 1);
  CHECK(contains(broken[0].message, "train.pack: image 1: its checksum is wrong"));
}

TEST_CASE("a pack cut short while it is open is an error of the images that are gone") {
  for (const bool as_pixels : {false, true}) {
    PackOptions options;
    options.as_pixels = as_pixels;
    const Made made(options);
    const auto packed = made.open();
    std::filesystem::resize_file(made.folder / "train.pack", 4096 + 1);
    CHECK_THROWS_AS((void)packed->get(1), ImageError);
    CHECK(contains(message_of([&] { (void)packed->get(1); }), "train.pack: the file ends at byte"));
    CHECK(verify_dataset(*packed).size() > 0);
  }
}

TEST_CASE("packing can be stopped, and leaves no file") {
  const Made made;
  PackOptions options;
  options.on_progress = [](std::int64_t) { return false; };
  CHECK_FALSE(write_pack(made.folder / "new.pack", *made.source, options));
  CHECK_FALSE(std::filesystem::exists(made.folder / "new.pack"));
}

TEST_CASE("a broken image ends the packing, and no file is left") {
  Made made;
  write_file_atomically(made.folder / "set/train/cat/b.png", "<html>");
  const auto write = [&] { write_pack(made.folder / "new.pack", *made.source, {}); };
  CHECK(contains(message_of(write), "b.png"));
  CHECK_FALSE(std::filesystem::exists(made.folder / "new.pack"));
}

}  // namespace fovea
