// Hue rotation in 8-bit HSV, rounded like Pillow.
//
// Compiled without fused multiply-add (CMakeLists.txt) for bit-identical results with Pillow.
#include <algorithm>
#include <cmath>

#include "data/augment/color.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

struct Hsv {
  std::uint8_t h = 0, s = 0, v = 0;
};

/// Computed in f32 like Pillow, except for steps that a constant promotes to f64; truncated.
Hsv to_hsv(const std::uint8_t* rgb) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  const int most = std::max({r, g, b}), least = std::min({r, g, b});
  Hsv hsv;
  hsv.v = static_cast<std::uint8_t>(most);
  if (most == least) return hsv;
  const auto range = static_cast<float>(most - least);
  const float s = range / static_cast<float>(most);
  const float rc = static_cast<float>(most - r) / range;
  const float gc = static_cast<float>(most - g) / range;
  const float bc = static_cast<float>(most - b) / range;
  float h = 0;  // in sixths of the circle
  if (r == most) {
    h = bc - gc;
  } else if (g == most) {
    h = static_cast<float>(2.0 + rc - bc);
  } else {
    h = static_cast<float>(4.0 + gc - rc);
  }
  h = static_cast<float>(std::fmod(h / 6.0 + 1.0, 1.0));
  hsv.h = static_cast<std::uint8_t>(std::clamp(static_cast<int>(h * 255.0), 0, 255));
  hsv.s = static_cast<std::uint8_t>(std::clamp(static_cast<int>(s * 255.0), 0, 255));
  return hsv;
}

std::uint8_t rounded_byte(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::round(value), 0.0, 255.0));
}

void to_rgb(const Hsv& hsv, std::uint8_t* rgb) {
  const auto assign = [rgb](std::uint8_t r, std::uint8_t g, std::uint8_t b) {
    rgb[0] = r;
    rgb[1] = g;
    rgb[2] = b;
  };
  if (hsv.s == 0) return assign(hsv.v, hsv.v, hsv.v);
  const double sixths = static_cast<float>(hsv.h) * 6.0 / 255.0;
  const int sector = static_cast<int>(std::floor(sixths));
  const auto f = static_cast<float>(sixths - static_cast<float>(sector));
  const auto s = static_cast<float>(static_cast<float>(hsv.s) / 255.0);
  const auto v = static_cast<float>(hsv.v);
  const std::uint8_t p = rounded_byte(v * (1.0 - s));
  const std::uint8_t q = rounded_byte(v * (1.0 - static_cast<double>(s * f)));
  const std::uint8_t t = rounded_byte(v * (1.0 - s * (1.0 - f)));
  switch (sector % 6) {
    case 0:
      return assign(hsv.v, t, p);
    case 1:
      return assign(q, hsv.v, p);
    case 2:
      return assign(p, hsv.v, t);
    case 3:
      return assign(p, q, hsv.v);
    case 4:
      return assign(t, p, hsv.v);
    default:
      return assign(hsv.v, p, q);
  }
}

}  // namespace

Image adjust_hue(const Image& image, double factor) {
  require_rgb8(image, "adjust_hue");
  check(factor >= -0.5 && factor <= 0.5, "adjust_hue: got factor ", factor,
        ", expected -0.5 to 0.5");
  const int turn = static_cast<int>(factor * 255);
  Image result(image.height, image.width);
  for (std::size_t i = 0; i < result.pixels.size(); i += Image::kChannels) {
    Hsv hsv = to_hsv(image.pixels.data() + i);
    hsv.h = static_cast<std::uint8_t>(hsv.h + turn);
    to_rgb(hsv, result.pixels.data() + i);
  }
  return result;
}

}  // namespace fovea
