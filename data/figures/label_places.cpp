// A greedy choice among a few places of each label.
#include "data/figures/label_places.h"

#include <algorithm>
#include <array>

namespace fovea {
namespace {

bool overlap(const SvgBox& a, const SvgBox& b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/// The labels that have a place, in a picture.
class Places {
 public:
  Places(double height, const SvgBox& picture) : height_(height), picture_(picture) {}

  std::optional<SvgBox> place(const LabelledFrame& of) {
    const auto [x, y, width, height] = of.frame;
    const double right = x + width - of.label_width, bottom = y + height;
    const std::array<std::array<double, 2>, 6> usual{{{x, y - height_},
                                                      {x, y},
                                                      {x, bottom},
                                                      {right, y - height_},
                                                      {right, bottom},
                                                      {x, bottom - height_}}};
    for (const auto& [left, top] : usual)
      if (const auto found = take(left, top, of.label_width)) return found;
    for (double apart = height_; apart < picture_.height; apart += height_) {
      for (const double top : {y + apart, y - height_ - apart})
        if (const auto found = take(x, top, of.label_width)) return found;
    }
    return {};
  }

 private:
  std::optional<SvgBox> take(double left, double top, double width) {
    const double most = std::max(0.0, picture_.width - width);
    const SvgBox place{std::clamp(left, 0.0, most), top, width, height_};
    if (top < 0 || top + height_ > picture_.height) return {};
    const auto covers = [&](const SvgBox& other) { return overlap(place, other); };
    if (std::ranges::any_of(taken_, covers)) return {};
    taken_.push_back(place);
    return place;
  }

  double height_;
  SvgBox picture_;
  std::vector<SvgBox> taken_;
};

}  // namespace

std::vector<std::optional<SvgBox>> label_places(std::span<const LabelledFrame> frames,
                                                double height, const SvgBox& picture) {
  Places places(height, picture);
  std::vector<std::optional<SvgBox>> found;
  for (const LabelledFrame& frame : frames)
    found.push_back(frame.label_width > 0 ? places.place(frame) : std::nullopt);
  return found;
}

}  // namespace fovea
