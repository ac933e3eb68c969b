// Decoding parts of JPEG files: the same pixels as in the whole image, or fewer of them when asked.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "data/geometry/transforms.h"
#include "data/image.h"
#include "engine/rng.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

constexpr bool kWithoutJpeg = FOVEA_HAS_JPEG == 0;

/// Smooth colours with noise and edges, so that every block has coefficients of every frequency.
Image photograph(std::int64_t height, std::int64_t width) {
  Image image(height, width);
  Rng rng(5);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const double wave =
          std::sin(0.13 * static_cast<double>(x)) * std::cos(0.07 * static_cast<double>(y));
      for (int c = 0; c < Image::kChannels; ++c) {
        const double edge = (x / 19 + y / 23 + c) % 3 == 0 ? 60 : 0;
        const double value = 100 + 60 * wave + edge + rng.uniform(-30, 30);
        image.at(y, x)[c] = static_cast<std::uint8_t>(value);
      }
    }
  }
  return image;
}

std::vector<std::uint8_t> jpeg_of(const Image& image, const JpegOptions& options) {
  const std::string text = encode_jpeg(image, options);
  return {text.begin(), text.end()};
}

ChooseBox fixed(const PixelBox& box) {
  return [box](ImageSize) { return box; };
}

PixelBox random_box(ImageSize size, Rng& rng) {
  const auto range = [&rng](std::int64_t side) {
    const std::int64_t begin = rng.below(side);
    return std::array{begin, begin + 1 + rng.below(side - begin)};
  };
  const auto rows = range(size.height), columns = range(size.width);
  return {rows[0], rows[1], columns[0], columns[1]};
}

void check_parts(const std::vector<std::uint8_t>& file, int boxes) {
  const Image whole = decode_image(file, "photo");
  Rng rng(7);
  int different = 0;
  for (int i = 0; i < boxes; ++i) {
    const PixelBox box = random_box({whole.height, whole.width}, rng);
    const Image part = decode_image(file, "photo", fixed(box));
    const Image expected = crop(whole, box.top, box.left, box.size());
    if (part == expected) continue;
    CAPTURE(box.top);
    CAPTURE(box.bottom);
    CAPTURE(box.left);
    CAPTURE(box.right);
    if (different++ == 0) CHECK(part == expected);
  }
  CHECK(different == 0);
}

/// Luma samples for one chroma sample, across and down.
constexpr std::array<std::array<int, 2>, 6> kSamplings = {
    {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}}};

}  // namespace

TEST_CASE("a part of a JPEG has the pixels of the whole" * doctest::skip(kWithoutJpeg)) {
  for (const auto& sampling : kSamplings) {
    for (const bool progressive : {false, true}) {
      for (const std::array<std::int64_t, 2> size :
           {std::array<std::int64_t, 2>{97, 131}, std::array<std::int64_t, 2>{64, 64},
            std::array<std::int64_t, 2>{33, 7}, std::array<std::int64_t, 2>{5, 150}}) {
        CAPTURE(sampling[0]);
        CAPTURE(sampling[1]);
        CAPTURE(progressive);
        CAPTURE(size[0]);
        JpegOptions options;
        options.chroma_width = sampling[0];
        options.chroma_height = sampling[1];
        options.progressive = progressive;
        check_parts(jpeg_of(photograph(size[0], size[1]), options), 60);
      }
    }
  }
}

TEST_CASE("every row and column can be a part's border" * doctest::skip(kWithoutJpeg)) {
  const std::vector<std::uint8_t> file = jpeg_of(photograph(50, 53), {});
  const Image whole = decode_image(file, "photo");
  for (std::int64_t begin = 0; begin < 50; ++begin) {
    for (const std::int64_t end : {begin + 1, std::int64_t{50}}) {
      CAPTURE(begin);
      CAPTURE(end);
      const PixelBox rows{begin, end, 3, 41}, columns{3, 41, begin, end};
      CHECK(decode_image(file, "photo", fixed(rows)) == crop(whole, begin, 3, rows.size()));
      CHECK(decode_image(file, "photo", fixed(columns)) == crop(whole, 3, begin, columns.size()));
    }
  }
}

TEST_CASE("a part that does not lie inside the image is an error" * doctest::skip(kWithoutJpeg)) {
  const std::vector<std::uint8_t> file = jpeg_of(photograph(20, 30), {});
  for (const PixelBox& box : {PixelBox{0, 21, 0, 30}, PixelBox{-1, 20, 0, 30},
                              PixelBox{5, 5, 0, 30}, PixelBox{0, 20, 7, 31}}) {
    const std::string message = message_of([&] { (void)decode_image(file, "photo", fixed(box)); });
    CHECK(contains(message, "expected a part of 30 x 20 pixels"));
  }
}

TEST_CASE("fast decoding shrinks no further than asked" * doctest::skip(kWithoutJpeg)) {
  const Image picture = photograph(200, 300);
  const std::vector<std::uint8_t> file = jpeg_of(picture, {});
  const auto decoded = [&](const PixelBox& box, ImageSize at_least) {
    DecodeOptions options;
    options.shrink_to = at_least;
    const Image image = decode_image(file, "photo", fixed(box), options);
    return ImageSize{image.height, image.width};
  };
  const PixelBox all{0, 200, 0, 300};
  CHECK(decoded(all, {0, 0}) == ImageSize{200, 300});
  CHECK(decoded(all, {101, 101}) == ImageSize{200, 300});
  CHECK(decoded(all, {100, 100}) == ImageSize{100, 150});
  CHECK(decoded(all, {50, 75}) == ImageSize{50, 75});
  CHECK(decoded(all, {20, 20}) == ImageSize{25, 38});
  CHECK(decoded({10, 110, 20, 120}, {32, 32}) == ImageSize{50, 50});
}

TEST_CASE("fast decoding shows the same picture" * doctest::skip(kWithoutJpeg)) {
  const std::vector<std::uint8_t> file = jpeg_of(photograph(256, 256), {});
  DecodeOptions options;
  options.shrink_to = {64, 64};
  const PixelBox box{64, 192, 64, 192};  // on block borders: no part of a pixel is cut off
  const Image fast = decode_image(file, "photo", fixed(box), options);
  const Image exact = resize(decode_image(file, "photo", fixed(box)), {64, 64}, Filter::box);
  REQUIRE(fast.height == 64);
  double sum = 0;
  for (std::size_t i = 0; i < fast.pixels.size(); ++i)
    sum += std::abs(fast.pixels[i] - exact.pixels[i]);
  CHECK(sum / static_cast<double>(fast.pixels.size()) < 4);
}

TEST_CASE("a JPEG that promises more than its bytes can hold is refused" *
          doctest::skip(kWithoutJpeg)) {
  std::vector<std::uint8_t> file = jpeg_of(photograph(16, 16), {});
  for (std::size_t i = 0; i + 8 < file.size(); ++i) {
    if (file[i] != 0xFF || file[i + 1] != 0xC0) continue;  // start of frame: height and width
    file[i + 5] = file[i + 7] = 0x1F;
    break;
  }
  const std::string message = message_of([&] { (void)decode_image(file, "photo"); });
  CHECK(contains(message, "bytes cannot hold"));
}

TEST_CASE("what is written as JPEG reads back as nearly the same" * doctest::skip(kWithoutJpeg)) {
  const Image picture = photograph(40, 40);
  JpegOptions best;
  best.quality = 100;
  best.chroma_width = best.chroma_height = 1;
  const Image back = decode_image(jpeg_of(picture, best), "photo");
  double sum = 0;
  for (std::size_t i = 0; i < back.pixels.size(); ++i)
    sum += std::abs(back.pixels[i] - picture.pixels[i]);
  CHECK(sum / static_cast<double>(back.pixels.size()) < 1);
  best.quality = 0;
  CHECK(contains(message_of([&] { (void)encode_jpeg(picture, best); }), "quality 0"));
  CHECK(contains(message_of([&] { (void)encode_jpeg({}, {}); }), "0 x 0"));
}

}  // namespace fovea
