// GIF files written by hand: each pixel has the colour that Pillow's convert("RGB") gives it.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/image.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using Indices = std::vector<int>;

const std::string kColors("\x0a\x0b\x0c\x14\x15\x16\x1e\x1f\x20\x28\x29\x2a");  // of index 0 to 3
const std::string kOthers("\x09\x09\x09\x08\x08\x08\x07\x07\x07\x06\x06\x06");
const std::string kGrays("\0\0\0\1\1\1\2\2\2\3\3\3", 12);
const std::array<Color8, 4> kRgb{{{10, 11, 12}, {20, 21, 22}, {30, 31, 32}, {40, 41, 42}}};

std::string two(int value) {
  return {static_cast<char>(value & 255), static_cast<char>(value >> 8)};
}

/// A file of one frame whose codes are a byte and a bit wide.
struct Gif {
  int width = 2, height = 2;
  std::array<int, 4> frame{0, 0, 2, 2};  ///< left, top, width, height
  Indices indices{0, 1, 2, 3};
  std::string palette = kColors, own_palette{};
  int transparent = -1, background = 0;
  bool interlaced = false, ends = true;

  [[nodiscard]] std::string bytes() const {
    std::string file = "GIF89a" + two(width) + two(height);
    file += {static_cast<char>(palette.empty() ? 0 : 0x81), static_cast<char>(background), '\0'};
    file += palette;
    if (transparent >= 0) {
      file += std::string("!\xf9\x04\x01\0\0", 6) + static_cast<char>(transparent) + '\0';
    }
    file += ",";
    for (const int number : frame) file += two(number);
    file += static_cast<char>((own_palette.empty() ? 0 : 0x81) | (interlaced ? 0x40 : 0));
    return file + own_palette + pixels() + ";";
  }

 private:
  [[nodiscard]] std::string pixels() const {
    std::string packed;
    unsigned bits = 0;
    int held = 0;
    const auto put = [&](int code) {
      bits |= static_cast<unsigned>(code) << held;
      for (held += 9; held >= 8; held -= 8, bits >>= 8) packed += static_cast<char>(bits & 255);
    };
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (i % 200 == 0) put(256);  // before codes grow
      put(indices[i]);
    }
    if (ends) put(257);
    if (held > 0) packed += static_cast<char>(bits);
    std::string blocks = "\x08";
    for (std::size_t at = 0; at < packed.size(); at += 255) {
      const std::string block = packed.substr(at, 255);
      blocks += static_cast<char>(block.size()) + block;
    }
    return blocks + '\0';
  }
};

Image decoded(const Gif& gif) { return decode_image(as_u8(gif.bytes()), "g.gif"); }

Color8 color_at(const Image& image, int y, int x) {
  const std::uint8_t* pixel = image.at(y, x);
  return {pixel[0], pixel[1], pixel[2]};
}

std::string gif_error(const std::string& bytes) {
  return message_of([&] { (void)decode_image(as_u8(bytes), "g.gif"); });
}

}  // namespace

TEST_CASE("a transparent pixel has its palette's colour") {
  for (const int transparent : {-1, 1}) {
    const Image image = decoded({.transparent = transparent});
    for (int i = 0; i < 4; ++i) CHECK(color_at(image, i / 2, i % 2) == kRgb[i]);
  }
}

TEST_CASE("outside of the first frame the canvas has the transparent colour, or the first one") {
  Gif gif{.width = 3, .height = 3, .frame = {1, 1, 1, 1}, .indices = {1}, .background = 2};
  CHECK(color_at(decoded(gif), 0, 0) == kRgb[0]);
  CHECK(color_at(decoded(gif), 1, 1) == kRgb[1]);
  gif.transparent = 3;
  CHECK(color_at(decoded(gif), 0, 0) == kRgb[3]);
  CHECK(color_at(decoded(gif), 2, 2) == kRgb[3]);
  CHECK(color_at(decoded(gif), 1, 1) == kRgb[1]);
}

TEST_CASE("a frame beyond the canvas makes it larger") {
  const Image image = decoded({.width = 1, .height = 1, .frame = {1, 1, 2, 2}});
  CHECK(image.size() == ImageSize{3, 3});
  CHECK(color_at(image, 2, 2) == kRgb[3]);
  CHECK(color_at(image, 0, 2) == kRgb[0]);
}

TEST_CASE("palettes: the frame's own before the file's, grays where there is none") {
  CHECK(color_at(decoded({.own_palette = kOthers}), 0, 1) == Color8{8, 8, 8});
  CHECK(color_at(decoded({.indices = {0, 1, 200, 3}}), 1, 0) == Color8{0, 0, 0});
  CHECK(color_at(decoded({.indices = {0, 1, 200, 3}, .palette = kGrays}), 1, 0) ==
        Color8{200, 200, 200});
  CHECK(color_at(decoded({.indices = {0, 1, 200, 3}, .palette = ""}), 1, 0) ==
        Color8{200, 200, 200});
  CHECK(color_at(decoded({.own_palette = kGrays}), 0, 1) == kRgb[1]);  // taken for none
}

TEST_CASE("rows of interlaced frames come to their places") {
  Gif gif{.width = 1, .height = 11, .frame = {0, 0, 1, 11}, .interlaced = true};
  gif.indices = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2};
  const Image image = decoded(gif);
  const Indices order{0, 8, 4, 2, 6, 10, 1, 3, 5, 7, 9};
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(color_at(image, order[i], 0) == kRgb[i % 4]);
}

TEST_CASE("pixels beyond the frame are passed over, missing ones are an error") {
  CHECK(decoded({.indices = {0, 1, 2, 3, 1, 1, 1}}).size() == ImageSize{2, 2});
  CHECK(gif_error(Gif{.indices = {0, 1, 2}}.bytes()) ==
        "g.gif: damaged GIF: its pixels end too early");
  CHECK(contains(gif_error(Gif{.indices = {0, 1, 2}, .ends = false}.bytes()), "end too early"));
  const std::string whole = Gif{}.bytes();
  for (std::size_t size = 0; size + 4 < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(gif_error(whole.substr(0, size)).empty());
  }
}

TEST_CASE("what no GIF holds is refused") {
  CHECK(contains(gif_error(Gif{.frame = {0, 0, 0, 2}, .indices = {}}.bytes()), "has no pixels"));
  CHECK(contains(gif_error(Gif{.indices = {0, 400, 2, 3}}.bytes()), "an undefined code"));
  CHECK(contains(gif_error(Gif{.width = 60000, .height = 60000}.bytes()), "its header specifies"));
  std::string wide = Gif{}.bytes();
  wide[13 + 12 + 10] = 9;
  CHECK(contains(gif_error(wide), "its indices have 9 bits"));
  CHECK(contains(gif_error("GIF89a" + two(2) + two(2) + std::string(3, '\0') + ";"), "no frame"));
}

}  // namespace fovea
