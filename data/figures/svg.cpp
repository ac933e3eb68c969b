// SVG elements as text. All external names are escaped here and nowhere else.
#include "data/figures/svg.h"

#include "engine/base/text.h"

namespace fovea {
namespace {

std::string box_attributes(const SvgBox& box) {
  return "x=\"" + Svg::number(box.x) + "\" y=\"" + Svg::number(box.y) + "\" width=\"" +
         Svg::number(box.width) + "\" height=\"" + Svg::number(box.height) + "\"";
}

}  // namespace

std::string Svg::number(double value) {
  std::string text = fixed_text(value, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

Svg::Svg(double width, double height) {
  const std::string w = number(width), h = number(height);
  svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h +
         "\" viewBox=\"0 0 " + w + " " + h + "\" font-family=\"Helvetica, Arial, sans-serif\">\n";
  rect({0, 0, width, height}, "#ffffff");
}

void Svg::move_down(double by) {
  svg_.append("<g transform=\"translate(0 ").append(number(by)).append(")\">\n");
  ++groups_;
}

std::string Svg::finish() && {
  for (; groups_ > 0; --groups_) svg_ += "</g>\n";
  return std::move(svg_ += "</svg>\n");
}

void Svg::rect(const SvgBox& box, std::string_view fill) {
  svg_.append("<rect ").append(box_attributes(box)).append(" fill=\"").append(fill);
  svg_.append("\"/>\n");
}

void Svg::frame(const SvgBox& box, std::string_view color, double width) {
  svg_.append("<rect ").append(box_attributes(box)).append(" fill=\"none\" stroke=\"");
  svg_.append(color).append("\" stroke-width=\"").append(number(width)).append("\"/>\n");
}

void Svg::image(const SvgBox& box, std::string_view png, double opacity) {
  const std::string look = number(box.width) + " " + number(box.height) + " " + number(opacity);
  const auto [found, is_new] = images_.try_emplace(
      look + std::string(png), Placed{"image" + std::to_string(images_.size()), box.x, box.y});
  const Placed& placed = found->second;
  if (!is_new) {
    svg_.append("<use href=\"#").append(placed.id).append("\" x=\"");
    svg_.append(number(box.x - placed.x)).append("\" y=\"").append(number(box.y - placed.y));
    svg_.append("\"/>\n");
    return;
  }
  svg_.append("<image id=\"").append(placed.id).append("\" ").append(box_attributes(box));
  svg_.append(" preserveAspectRatio=\"none\"");
  if (opacity < 1) svg_.append(" opacity=\"").append(number(opacity)).append("\"");
  svg_.append(" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,");
  svg_.append(base64(png)).append("\"/>\n");
}

void Svg::shape(std::string_view path, std::string_view fill) {
  svg_.append("<path d=\"").append(path).append("\" fill=\"").append(fill).append("\"/>\n");
}

void Svg::path(std::string_view path, std::string_view color, std::string_view style) {
  svg_.append("<path d=\"").append(path).append("\" fill=\"none\" stroke=\"").append(color);
  svg_.append("\" ").append(style).append("/>\n");
}

void Svg::line(const SvgBox& from_and_extent, std::string_view color) {
  const auto& [x, y, width, height] = from_and_extent;
  path("M " + number(x) + " " + number(y) + " l " + number(width) + " " + number(height), color);
}

void Svg::circle(double x, double y, std::string_view color) {
  svg_ += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"3\" fill=\"";
  svg_.append(color).append("\"/>\n");
}

void Svg::text(double x, double y, std::string_view content, const SvgText& style) {
  const std::string at_x = number(x), at_y = number(y);
  svg_ += "<text x=\"" + at_x + "\" y=\"" + at_y + "\" font-size=\"" + std::to_string(style.size) +
          "\" text-anchor=\"";
  svg_.append(style.anchor).append("\" fill=\"").append(style.color).append("\"");
  if (style.bold) svg_ += " font-weight=\"bold\"";
  if (style.rotation != 0) {
    svg_ +=
        " transform=\"rotate(" + std::to_string(style.rotation) + " " + at_x + " " + at_y + ")\"";
  }
  svg_.append(">").append(markup_text(content)).append("</text>\n");
}

}  // namespace fovea
