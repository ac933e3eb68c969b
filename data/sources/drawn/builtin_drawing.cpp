// Signed distances to the forms, and painting.
#include "data/sources/drawn/builtin_drawing.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace fovea::drawing {
namespace {

// Outlines in a square with half side 1, centred on the point about which they are tilted.
constexpr Point kSquare[] = {{-0.8, -0.8}, {0.8, -0.8}, {0.8, 0.8}, {-0.8, 0.8}};
constexpr Point kTriangle[] = {{0, -1}, {0.95, 0.75}, {-0.95, 0.75}};
constexpr Point kCross[] = {{-0.3, -1},  {0.3, -1},  {0.3, -0.3}, {1, -0.3},
                            {1, 0.3},    {0.3, 0.3}, {0.3, 1},    {-0.3, 1},
                            {-0.3, 0.3}, {-1, 0.3},  {-1, -0.3},  {-0.3, -0.3}};
constexpr Point kStar[] = {{0, -1},          {0.247, -0.340}, {0.951, -0.309}, {0.399, 0.130},
                           {0.588, 0.809},   {0, 0.420},      {-0.588, 0.809}, {-0.399, 0.130},
                           {-0.951, -0.309}, {-0.247, -0.340}};

double squared_length(Point p) { return p.x * p.x + p.y * p.y; }
double length(Point p) { return std::sqrt(squared_length(p)); }

/// Squared distance of p to the segment a-b.
double squared_distance(Point p, Point a, Point b) {
  const Point d{b.x - a.x, b.y - a.y}, e{p.x - a.x, p.y - a.y};
  const double t = std::clamp((e.x * d.x + e.y * d.y) / (d.x * d.x + d.y * d.y), 0.0, 1.0);
  return squared_length({e.x - t * d.x, e.y - t * d.y});
}

/// Signed distance to a polygon: negative inside (even-odd rule).
double polygon_distance(Point p, std::span<const Point> outline) {
  double nearest = 1e18;  // squared, so that one root suffices
  bool inside = false;
  Point a = outline.back();
  for (const Point b : outline) {
    nearest = std::min(nearest, squared_distance(p, a, b));
    if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x))
      inside = !inside;
    a = b;
  }
  const double distance = std::sqrt(nearest);
  return inside ? -distance : distance;
}

/// Distance to the nearest stripe of width 1, every second unit; negative on a stripe.
double stripe_distance(double x) {
  const double t = x - 2 * std::floor(x / 2);  // in [0, 2)
  return std::abs(t - 0.5) < 0.5 ? std::abs(t - 0.5) - 0.5 : 0.5 - std::abs(t - 1.5);
}

/// Signed distance from p to the form of a class, in units of the form.
double form_distance(std::int64_t label, Point p) {
  switch (label) {
    case 0:
      return length(p) - 0.9;
    case 1:
      return polygon_distance(p, kSquare);
    case 2:
      return polygon_distance(p, kTriangle);
    case 3:
      return polygon_distance(p, kCross);
    case 4:
      return std::abs(length(p) - 0.7) - 0.25;
    case 5:
      return polygon_distance(p, kStar);
    case 6:
      return stripe_distance(p.y);
    case 7:
      return stripe_distance(p.x);
    case 8:
      return stripe_distance((p.x + p.y) * 0.7071067811865476);
    default: {  // a checkerboard: the exclusive or of two sets of stripes
      const double a = stripe_distance(p.x), b = stripe_distance(p.y);
      return std::max(std::min(a, b), -std::max(a, b));
    }
  }
}

bool is_pattern(std::int64_t label) { return label >= ClassForm::kShapes; }

double distance(const Color& a, const Color& b) {
  double sum = 0;
  for (std::size_t c = 0; c < 3; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return std::sqrt(sum);
}

/// A smooth random field: bilinear interpolation of a coarse grid.
class Shading {
 public:
  Shading(double strength, Rng& rng) {
    for (Color& corner : corners_)
      for (double& value : corner) value = rng.uniform(-strength, strength);
  }
  [[nodiscard]] Color at(double x, double y) const {
    const double u = x * kCells / kSide, v = y * kCells / kSide;
    const auto i = static_cast<std::size_t>(u), j = static_cast<std::size_t>(v);
    const double fu = u - static_cast<double>(i), fv = v - static_cast<double>(j);
    Color value{};
    for (std::size_t c = 0; c < 3; ++c) {
      const double top = corner(j, i)[c] * (1 - fu) + corner(j, i + 1)[c] * fu;
      const double bottom = corner(j + 1, i)[c] * (1 - fu) + corner(j + 1, i + 1)[c] * fu;
      value[c] = top * (1 - fv) + bottom * fv;
    }
    return value;
  }

 private:
  static constexpr std::size_t kCells = 4;
  [[nodiscard]] const Color& corner(std::size_t j, std::size_t i) const {
    return corners_[j * (kCells + 1) + i];
  }
  std::array<Color, (kCells + 1) * (kCells + 1)> corners_{};
};

}  // namespace

const std::vector<std::string>& ClassForm::names() {
  static const std::vector<std::string> names = {"disc",
                                                 "square",
                                                 "triangle",
                                                 "cross",
                                                 "ring",
                                                 "star",
                                                 "horizontal stripes",
                                                 "vertical stripes",
                                                 "diagonal stripes",
                                                 "checkerboard"};
  return names;
}

ClassForm::ClassForm(std::int64_t label, Rng& rng)
    : ClassForm(label, is_pattern(label) ? rng.uniform(2.5, 5) : rng.uniform(9, 13), rng) {}

ClassForm::ClassForm(std::int64_t label, double size, Rng& rng) : label_(label), scale_(size) {
  const double middle = 0.5 * kSide;
  const double room = is_pattern(label) ? 2 * scale_ : middle - scale_;
  center_ = {middle + rng.uniform(-room, room), middle + rng.uniform(-room, room)};
  sine_ = rng.uniform(-0.2, 0.2);  // up to 11.5 degrees in either direction
  cosine_ = std::sqrt(1 - sine_ * sine_);
}

ClassForm::ClassForm(std::int64_t label, double size, Point center, double sine)
    : label_(label),
      center_(center),
      scale_(size),
      cosine_(std::sqrt(1 - sine * sine)),
      sine_(sine) {}

double ClassForm::cover(double x, double y) const {
  const double u = (x - center_.x) / scale_, v = (y - center_.y) / scale_;
  const double farthest = kFarthest + 1 / scale_;
  if (!is_pattern(label_) && squared_length({u, v}) > farthest * farthest) return 0;
  const Point inside{cosine_ * u + sine_ * v, cosine_ * v - sine_ * u};
  return std::clamp(0.5 - form_distance(label_, inside) * scale_, 0.0, 1.0);
}

Color random_color(Rng& rng) {
  return {rng.uniform(0, 255), rng.uniform(0, 255), rng.uniform(0, 255)};
}

Color contrasting_color(std::initializer_list<Color> others, Rng& rng) {
  while (true) {
    const Color color = random_color(rng);
    const auto is_far = [&](const Color& other) { return distance(color, other) >= 130; };
    if (std::all_of(others.begin(), others.end(), is_far)) return color;
  }
}

Color blend(const Color& a, const Color& b, double share) {
  return {a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])};
}

Image paint(const std::function<Color(double x, double y)>& color, Rng& rng) {
  const Shading shading(25, rng);
  Image image(kSide, kSide);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const double px = static_cast<double>(x) + 0.5, py = static_cast<double>(y) + 0.5;
      const Color plain = color(px, py), shade = shading.at(px, py);
      const double grain = rng.uniform(-10, 10);
      for (std::size_t c = 0; c < 3; ++c) {
        const double value = plain[c] + shade[c] + grain;
        image.at(y, x)[c] = static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0));
      }
    }
  }
  return image;
}

}  // namespace fovea::drawing
