// Decoding every supported kind of file, refusing damaged ones, and writing PNG. The files are the
// seed corpus of the fuzzer; the hashes are those of Pillow's RGB pixels.
#include "data/image.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "tests/data/hash.h"
#include "tests/data/image_libraries.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr bool kWithoutWebp = FOVEA_HAS_WEBP == 0;

const fs::path kCorpus = fs::path(FOVEA_TESTS) / "fuzz/corpus/image";

std::vector<std::uint8_t> file_bytes(const fs::path& path) {
  const std::string file = read_file(path);
  return {file.begin(), file.end()};
}

/// The message of the Error that decoding gives, or "" when it succeeds.
std::string decoding_error(std::span<const std::uint8_t> bytes,
                           std::int64_t max_pixels = kMaxPixels) {
  DecodeOptions options;
  options.max_pixels = max_pixels;
  return message_of([&] { (void)decode_image(bytes, "photo", options); });
}

std::string decoding_error_of_text(const std::string& text) {
  return decoding_error(std::vector<std::uint8_t>(text.begin(), text.end()));
}

}  // namespace

TEST_CASE("pictures of every kind decode to Pillow's pixels" *
          doctest::skip(tests::kWithoutLibraries)) {
  struct Row {
    const char* file;
    std::uint64_t hash;
  };
  const Row rows[] = {
      {"420.jpg", 0xd4b85868db1d9b25},         {"arithmetic.jpg", 0xd4b85868db1d9b25},
      {"cmyk.jpg", 0xac95b6391a48f4b4},        {"gray.jpg", 0x01d9512c7c0c67da},
      {"progressive.jpg", 0x63d1886a7d225531}, {"rgb.jpg", 0x4bb991002464f2f7},
      {"bilevel.png", 0x350283f66238c962},     {"gray.png", 0x2989ee6d078199d6},
      {"gray16.png", 0x3b7b1c35f8c0fffc},      {"interlaced.png", 0xfb40db0aff55e313},
      {"palette.png", 0xc759d1bf596ff025},     {"rgb.png", 0xfb40db0aff55e313},
      {"rgba.png", 0xfb40db0aff55e313},        {"rgb.bmp", 0xfb40db0aff55e313}};
  for (const Row& row : rows) {
    INFO(row.file);
    const Image image = read_image(kCorpus / row.file);
    CHECK(image.height == 11);
    CHECK(image.width == 13);
    CHECK(tests::hash_of(image) == row.hash);
  }
  CHECK(read_image(kCorpus / "rgb.png") == tests::sample_image());
}

TEST_CASE("WebP decodes to Pillow's pixels: lossy, lossless, alpha dropped, the first frame" *
          doctest::skip(kWithoutWebp)) {
  CHECK(tests::hash_of(read_image(kCorpus / "lossy.webp")) == 0x537da7f44f1037b1);
  for (const char* file : {"lossless.webp", "alpha.webp", "moving.webp"}) {
    INFO(file);
    CHECK(read_image(kCorpus / file) == tests::sample_image());
  }
  CHECK(decoding_error(file_bytes(kCorpus / "lossy.webp"), 11 * 13 - 1) ==
        "photo: its header specifies 13 x 11 pixels, the limit is 142");
  for (const char* file : {"lossy.webp", "alpha.webp", "moving.webp"}) {
    const std::vector<std::uint8_t> whole = file_bytes(kCorpus / file);
    for (std::size_t size = 0; size + 2 < whole.size() / 2; ++size) {
      INFO(file, " cut to ", size);
      CHECK(!decoding_error(std::span(whole).first(size)).empty());
    }
  }
}

TEST_CASE("the format is told by content, not by name") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "png.JPEG";
  fs::copy_file(kCorpus / "rgb.png", path);
  CHECK(read_image(path) == tests::sample_image());
}

TEST_CASE("damaged pictures are errors that name the file" *
          doctest::skip(tests::kWithoutLibraries)) {
  for (const char* file :
       {"truncated.jpg", "truncated.png", "huge-header.png", "lying-header.png"}) {
    INFO(file);
    CHECK_THROWS_AS((void)read_image(kCorpus / file), Error);
    CHECK(decoding_error(file_bytes(kCorpus / file)).starts_with("photo: "));
  }
  CHECK(decoding_error(file_bytes(kCorpus / "truncated.jpg")) ==
        "photo: damaged JPEG: the data ends too early");
  CHECK(decoding_error(file_bytes(kCorpus / "huge-header.png")) ==
        "photo: its header specifies 100000 x 100000 pixels, the limit is 178956970");
  CHECK_THROWS_AS((void)read_image("no/such/file.png"), Error);
}

TEST_CASE("every cut of a file is an error, never a crash" *
          doctest::skip(tests::kWithoutLibraries)) {
  for (const char* file : {"420.jpg", "progressive.jpg", "rgb.png", "palette.png"}) {
    const std::vector<std::uint8_t> whole = file_bytes(kCorpus / file);
    for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
      INFO(file, " cut to ", size);
      CHECK(!decoding_error(std::span(whole).first(size)).empty());
    }
  }
}

TEST_CASE("a wrong PNG checksum is an error" * doctest::skip(tests::kWithoutLibraries)) {
  std::vector<std::uint8_t> file = file_bytes(kCorpus / "rgb.png");
  file[29] ^= 1;  // in the checksum of IHDR
  CHECK(decoding_error(file).find("CRC") != std::string::npos);
}

TEST_CASE("what is no supported picture is said by name") {
  const std::string kinds = kWithoutWebp ? "JPEG, PNG, BMP or GIF" : "JPEG, PNG, WebP, BMP or GIF";
  CHECK(decoding_error({}) == "photo: the file is empty, expected " + kinds);
  CHECK(decoding_error_of_text("<html></html>") ==
        "photo: not an image of a known format, expected " + kinds);
  CHECK(decoding_error_of_text("GIF89a...").starts_with("photo: damaged GIF"));
  CHECK(decoding_error_of_text("P6 1 1 255 ...").find("got a PPM file") != std::string::npos);
  const std::string webp = kWithoutWebp ? "photo: got a WebP file" : "photo: damaged WebP";
  CHECK(decoding_error_of_text("RIFF....WEBPVP8 ").starts_with(webp));
  CHECK(decoding_error_of_text("BM").find("photo: damaged picture") == 0);
}

TEST_CASE("the pixel limit counts for every decoder") {
  for (const char* file : {"420.jpg", "rgb.png", "rgb.bmp"}) {
    const std::vector<std::uint8_t> bytes = file_bytes(kCorpus / file);
    CHECK(decoding_error(bytes, 11 * 13).empty());
    CHECK(decoding_error(bytes, 11 * 13 - 1) ==
          "photo: its header specifies 13 x 11 pixels, the limit is 142");
  }
}

TEST_CASE("a written PNG reads back equal") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "written.png";
  write_png(path, tests::sample_image());
  CHECK(read_image(path) == tests::sample_image());
  CHECK_THROWS_WITH_AS((void)encode_png(Image()), "encode_png: got an empty picture", Error);
  CHECK_THROWS_AS(write_png("no/such/folder/a.png", tests::sample_image()), Error);
}

}  // namespace fovea
