// EXIF orientations: found in files, applied to pictures, parts and targets.
#include "data/codecs/exif.h"

#include <doctest/doctest.h>

#include "data/geometry/transforms.h"
#include "data/sources/orientation.h"
#include "data/sources/packed/pack.h"
#include "data/sources/verify.h"
#include "tests/data/photographs.h"
#include "tests/data/turned_picture.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using namespace tests;

/// 2 x 3 pixels: a b c / d e f, each letter a level of gray.
Image letters(const std::string& text, std::int64_t width) {
  Image image(std::ssize(text) / width, width);
  for (std::size_t i = 0; i < text.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c)
      image.pixels[3 * i + c] = static_cast<std::uint8_t>(text[i]);
  return image;
}

std::string text_of(const Image& image) {
  std::string text;
  for (std::int64_t y = 0; y < image.height; ++y) {
    if (y > 0) text += '/';
    for (std::int64_t x = 0; x < image.width; ++x) text += static_cast<char>(*image.at(y, x));
  }
  return text;
}

Image decoded(const std::string& file, ExifOrientation orientation) {
  DecodeOptions options;
  options.orientation = orientation;
  return decode_image(as_u8(file), "x", options);
}

/// Class folders in which picture 0 of class "a" is turned by orientation 6.
void make_turned_folders(const fs::path& root) {
  for (const char* const split : {"train", "val"}) {
    fs::create_directories(root / split / "a");
    write_file_atomically(root / split / "a/0.png", turned_png(numbered_image(0), 6));
    for (int i = 1; i < 4; ++i) write_picture(root / split / "a" / (std::to_string(i) + ".png"), i);
  }
}

}  // namespace

TEST_CASE("each orientation shows the picture as EXIF defines it") {
  const Image stored = letters("abcdef", 3);
  const char* const expected[] = {"abc/def",  "cba/fed",  "fed/cba",  "def/abc",
                                  "ad/be/cf", "da/eb/fc", "fc/eb/da", "cf/be/ad"};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    CHECK(text_of(displayed(stored, orientation)) == expected[orientation - 1]);
    CHECK(displayed(stored, orientation).size() == displayed_size(stored.size(), orientation));
  }
}

TEST_CASE("the stored part of a displayed part shows the same pixels") {
  const Image stored = letters("abcdefghijkl", 4);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const Image whole = displayed(stored, orientation);
    const PixelBox part{1, whole.height, 0, whole.width - 1};
    const PixelBox there = stored_part(part, orientation, stored.size());
    CHECK(displayed(crop(stored, there.top, there.left, there.size()), orientation) ==
          crop(whole, part.top, part.left, part.size()));
  }
}

TEST_CASE("an orientation is found in both byte orders; what is damaged counts as none") {
  using namespace std::string_literals;
  for (const bool little : {true, false}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const std::string data = exif_data(orientation, little);
      const std::string jpeg = "\xFF\xD8\xFF\xE0\0\x04JF\xFF\xE1\0"s +
                               static_cast<char>(8 + data.size()) + "Exif\0\0"s + data;
      CHECK(exif_orientation(as_u8(jpeg)) == orientation);
      const std::string webp = "RIFF\0\0\0\0WEBPVP8 \x03\0\0\0abc\0EXIF"s +
                               static_cast<char>(data.size()) + "\0\0\0"s + data;
      CHECK(exif_orientation(as_u8(webp)) == orientation);
      for (std::size_t cut = 0; cut < jpeg.size(); ++cut) {
        const int found = exif_orientation(as_u8(jpeg.substr(0, cut)));
        CHECK((found == 1 || found == orientation));
      }
    }
  }
  CHECK(exif_orientation(as_u8("\xFF\xD8\xFF\xE1\0\x30"s + "Exif\0\0"s + exif_data(9))) == 1);
  CHECK(exif_orientation(as_u8(encode_png(Image(2, 2)))) == 1);
  CHECK(exif_orientation(as_u8(""s)) == 1);
}

#if FOVEA_HAS_PNG
TEST_CASE("a picture is decoded as stored unless its orientation is to be applied") {
  const Image stored = letters("abcdef", 3);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const std::string file = turned_png(stored, orientation);
    CHECK(decoded(file, ExifOrientation::ignore) == stored);
    const Image whole = displayed(stored, orientation);
    CHECK(decoded(file, ExifOrientation::apply) == whole);
    ImageSize seen;
    const ChooseBox choose = [&](ImageSize size) {
      seen = size;
      return PixelBox{0, 1, 1, size.width};
    };
    const Image part =
        decode_image(as_u8(file), "x", choose, {.orientation = ExifOrientation::apply});
    CHECK(seen == whole.size());
    CHECK(part == crop(whole, 0, 1, {1, whole.width - 1}));
  }
}

TEST_CASE("turned pictures of a set are counted, and turned on request") {
  const TemporaryFolder folder;
  make_turned_folders(folder.path());
  DatasetOptions options = photographs(folder.path(), "folder");
  const auto ignoring = open_dataset(options, Split::train);
  CHECK(ignoring->get(0).image == numbered_image(0));
  CHECK(orientation_notice(*ignoring, "training images") ==
        "1 of 4 training images ignores EXIF rotation (--exif-orientation)");
  options.exif_orientation = ExifOrientation::apply;
  options.fraction = 0.9;  // a subset says the same as the whole
  const auto applying = open_dataset(options, Split::train);
  CHECK(applying->get(0).image == displayed(numbered_image(0), 6));
  CHECK(orientation_notice(*applying).empty());
}

TEST_CASE("a note about turned pictures fits a screen of 80 columns") {
  const TemporaryFolder folder;
  for (int i = 0; i < 70; ++i) {
    const fs::path picture = fs::path("a") / (std::to_string(i) + ".png");
    for (const char* const split : {"train", "val"}) {
      fs::create_directories(folder.path() / split / "a");
      write_file_atomically(folder.path() / split / picture, turned_png(Image(2, 3), 6));
    }
  }
  const auto set = open_dataset(photographs(folder.path(), "folder"), Split::train);
  const std::string line = "note: " + orientation_notice(*set, "training images");
  CHECK(
      line.ends_with("64 of 64 sampled training images ignore EXIF rotation "
                     "(--exif-orientation)"));
  CHECK(line.size() <= 80);
}

TEST_CASE("a pack of turned pictures shows them turned, whatever its reader asks for") {
  const TemporaryFolder folder;
  make_turned_folders(folder / "set");
  DatasetOptions options = photographs(folder / "set", "folder");
  options.exif_orientation = ExifOrientation::apply;
  for (const bool as_pixels : {false, true}) {
    CAPTURE(as_pixels);
    PackOptions how;
    how.as_pixels = as_pixels;
    write_pack(folder / "train.pack", *open_dataset(options, Split::train), how);
    const auto packed = open_dataset(photographs(folder.path(), "pack"), Split::train);
    CHECK(packed->exif_orientation() == ExifOrientation::apply);  // as weights trained on it have
    CHECK(packed->get(0).image == displayed(numbered_image(0), 6));
    CHECK(packed->get(1).image == numbered_image(1));
    CHECK(verify_dataset(*packed).empty());
  }
  make_folder(folder / "again");
  write_pack(folder / "train.pack", *open_dataset(options, Split::train), {});
  write_pack(folder / "again/train.pack",
             *open_dataset(photographs(folder.path(), "pack"), Split::train), {});
  const auto again = open_dataset(photographs(folder / "again", "pack"), Split::train);
  CHECK(again->get(0).image == displayed(numbered_image(0), 6));  // a pack of a pack

  options.exif_orientation = ExifOrientation::ignore;
  write_pack(folder / "train.pack", *open_dataset(options, Split::train), {});
  DatasetOptions reading = photographs(folder.path(), "pack");
  CHECK(open_dataset(reading, Split::train)->get(0).image == numbered_image(0));
  CHECK(open_dataset(reading, Split::train)->exif_orientation() == ExifOrientation::ignore);
  reading.exif_orientation = ExifOrientation::apply;
  CHECK(open_dataset(reading, Split::train)->get(0).image == displayed(numbered_image(0), 6));
  CHECK(verify_dataset(*open_dataset(reading, Split::train)).empty());
}

TEST_CASE("where only the sides are exchanged, the message names the EXIF orientation") {
  const TemporaryFolder folder;
  for (const char* const split : {"train", "val"}) {
    fs::create_directories(folder.path() / split / "rgb");
    fs::create_directories(folder.path() / split / "depth");
    write_file_atomically(folder.path() / split / "rgb/a.png", turned_png(Image(20, 31), 6));
    write_file_atomically(folder.path() / split / "depth/a.png",
                          encode_png(Image(31, 20, {PixelType::u16, 1})));
  }
  DatasetOptions options = photographs(folder.path(), "depth_pairs");
  const auto set = open_dataset(options, Split::train);
  CHECK_THROWS_WITH_AS((void)set->get(0),
                       doctest::Contains("its EXIF orientation is 6, which exchanges the sides: "
                                         "--exif-orientation apply turns it"),
                       ImageError);
  options.exif_orientation = ExifOrientation::apply;
  CHECK(open_dataset(options, Split::train)->get(0).image.size() == ImageSize{31, 20});
}
#endif

}  // namespace fovea
