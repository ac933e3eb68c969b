// Minimal SVG output for charts. Coordinates are pixels with y pointing down.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace fovea {

struct SvgText {
  std::string_view anchor = "middle";  ///< start, middle or end
  int size = 12;
  std::string_view color = "#333333";
  int rotation = 0;  ///< degrees, clockwise, around the text's position
  bool bold = false;
};

struct SvgBox {
  double x, y, width, height;
};

class Svg {
 public:
  Svg(double width, double height);

  void rect(const SvgBox& box, std::string_view fill);
  /// `path` is an SVG path such as "M 0 0 L 9 9"; `style` contains further attributes.
  void path(std::string_view path, std::string_view color, std::string_view style = "");
  /// From (x, y) to (x + width, y + height).
  void line(const SvgBox& from_and_extent, std::string_view color);
  void circle(double x, double y, std::string_view color);
  /// A filled, closed path.
  void shape(std::string_view path, std::string_view fill);
  /// The outline of a box.
  void frame(const SvgBox& box, std::string_view color, double width = 1);
  /// A PNG image, scaled to the box with hard pixel edges; opacity 1 is opaque. An
  /// image drawn again at the same size is stored once.
  void image(const SvgBox& box, std::string_view png, double opacity = 1);
  void text(double x, double y, std::string_view content, const SvgText& style = {});
  /// All that follows is lower by this much.
  void move_down(double by);
  [[nodiscard]] std::string finish() &&;

  /// A coordinate with at most one decimal.
  [[nodiscard]] static std::string number(double value);

 private:
  struct Placed {
    std::string id;
    double x, y;
  };

  std::string svg_;
  std::map<std::string, Placed> images_;  ///< keyed by content, size and opacity
  int groups_ = 0;                        ///< open ones
};

}  // namespace fovea
