// Layout of tiles, and maps as embedded PNG, upscaled here so that viewers do not smooth them.
#include "report/inspect/tiles.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "data/figures/axis.h"
#include "data/figures/svg.h"

namespace fovea {
namespace {

constexpr double kCharacter = 6.6;  // approximate width of a character at 12 pixels
constexpr double kOverlay = 0.7;    // opacity of a map over a picture
constexpr double kLine = 17;

double longest(const std::vector<std::string>& texts) {
  std::size_t most = 0;
  for (const std::string& text : texts) most = std::max(most, text.size());
  return kCharacter * static_cast<double>(most);
}

/// PNG upscaled to at least `pixels` on its shorter side, by a factor of at most 64.
std::string sharp_png(const Image& image, double pixels) {
  const auto shorter = static_cast<double>(std::min(image.height, image.width));
  const auto factor = static_cast<std::int64_t>(std::ceil(pixels / shorter));
  return encode_png(factor > 1 ? enlarged(image, std::min<std::int64_t>(factor, 64)) : image);
}

class Drawing {
 public:
  explicit Drawing(const TileGrid& grid)
      : grid_(grid),
        width_(grid.aspect > 1 ? grid.side / grid.aspect : grid.side),
        height_(grid.aspect > 1 ? grid.side : grid.side * grid.aspect),
        caption_(has_captions() ? kLine : 0),
        left_(20 + (grid.y_label.empty() ? 0 : 22) +
              (grid.row_labels.empty() ? 0 : longest(grid.row_labels) + 8)),
        top_(40 + kLine * static_cast<double>(grid.notes.size()) +
             (grid.column_labels.empty() ? 0 : kLine)),
        svg_(total_width(), total_height()) {}

  std::string draw() && {
    draw_texts();
    for (std::size_t r = 0; r < grid_.rows.size(); ++r) {
      for (std::size_t c = 0; c < grid_.rows[r].size(); ++c) draw_tile(grid_.rows[r][c], r, c);
    }
    if (grid_.bar) draw_bar(*grid_.bar);
    return std::move(svg_).finish();
  }

 private:
  [[nodiscard]] bool has_captions() const {
    for (const auto& row : grid_.rows) {
      for (const PictureTile& tile : row) {
        if (!tile.caption.empty()) return true;
      }
    }
    return false;
  }
  [[nodiscard]] double columns() const {
    std::size_t most = 1;
    for (const auto& row : grid_.rows) most = std::max(most, row.size());
    return static_cast<double>(most);
  }
  [[nodiscard]] double row_step() const { return height_ + caption_ + grid_.gap; }
  [[nodiscard]] double tiles_right() const {
    return left_ + columns() * (width_ + grid_.gap) - grid_.gap;
  }
  [[nodiscard]] double tiles_bottom() const {
    const auto rows = static_cast<double>(std::max<std::size_t>(grid_.rows.size(), 1));
    return top_ + rows * row_step() - grid_.gap;
  }
  [[nodiscard]] double bar_width() const {
    if (!grid_.bar) return 0;
    std::vector<std::string> labels;
    for (const auto& [share, text] : grid_.bar->ticks) labels.push_back(text);
    return 24 + 14 + 10 + longest(labels) + 28;
  }
  /// Width including the title and notes, which may be wider than the tiles.
  [[nodiscard]] double total_width() const {
    const double texts =
        std::max(longest(grid_.notes), 8.5 * static_cast<double>(grid_.title.size()));
    return std::max(tiles_right() + bar_width(), 20 + texts) + 20;
  }
  [[nodiscard]] double total_height() const {
    const double least_for_bar = grid_.bar ? top_ + 130 : 0;  // draw_bar() takes 110 at least
    return std::max(tiles_bottom(), least_for_bar) + (grid_.x_label.empty() ? 16 : 36);
  }

  void draw_texts() {
    svg_.text(20, 24, grid_.title, {.anchor = "start", .size = 15, .bold = true});
    double y = 44;
    for (const std::string& note : grid_.notes) {
      svg_.text(20, y, note, {.anchor = "start"});
      y += kLine;
    }
    for (std::size_t c = 0; c < grid_.column_labels.size(); ++c) {
      const double x = left_ + static_cast<double>(c) * (width_ + grid_.gap) + width_ / 2;
      svg_.text(x, top_ - 7, grid_.column_labels[c]);
    }
    for (std::size_t r = 0; r < grid_.row_labels.size(); ++r) {
      const double middle = top_ + static_cast<double>(r) * row_step() + height_ / 2 + 4;
      svg_.text(left_ - 8, middle, grid_.row_labels[r], {.anchor = "end"});
    }
    if (!grid_.y_label.empty()) {
      svg_.text(22, (top_ + tiles_bottom()) / 2, grid_.y_label, {.rotation = -90});
    }
    if (!grid_.x_label.empty()) {
      svg_.text((left_ + tiles_right()) / 2, tiles_bottom() + 22, grid_.x_label);
    }
  }

  /// PNG of a background picture; cached, because many tiles share it.
  const std::string& background_png(const Image& image) {
    const std::string pixels(image.pixels.begin(), image.pixels.end());
    const auto found = backgrounds_.find(pixels);
    if (found != backgrounds_.end()) return found->second;
    return backgrounds_[pixels] = sharp_png(image, std::min(width_, height_));
  }

  [[nodiscard]] SvgBox part(const SvgBox& box, const TileArea& area) const {
    return {box.x + area.left * box.width, box.y + area.top * box.height, area.width * box.width,
            area.height * box.height};
  }

  void draw_tile(const PictureTile& tile, std::size_t row, std::size_t column) {
    const SvgBox box{left_ + static_cast<double>(column) * (width_ + grid_.gap),
                     top_ + static_cast<double>(row) * row_step(), width_, height_};
    const bool has_background = tile.background.height > 0;
    if (has_background) svg_.image(box, background_png(tile.background));
    if (tile.map.height > 0) {
      svg_.image(part(box, tile.area), sharp_png(tile.map, std::min(width_, height_)),
                 has_background ? kOverlay : 1);
    }
    if (tile.mark) {  // in white below red, visible on any colour
      const SvgBox mark = part(box, *tile.mark);
      svg_.frame(mark, "#ffffff", 3.5);
      svg_.frame(mark, "#e31a1c", 2);
    }
    if (!tile.caption.empty()) {
      svg_.text(box.x + width_ / 2, box.y + height_ + 14, tile.caption, {.size = 11});
    }
  }

  void draw_bar(const ColorBar& bar) {
    constexpr int kSteps = 64;
    const double x = tiles_right() + 24;
    const double height = std::clamp(tiles_bottom() - caption_ - top_, 110.0, 320.0);
    std::vector<double> shares;
    for (int i = kSteps - 1; i >= 0; --i) shares.push_back((i + 0.5) / kSteps);
    const Image scale = paint({shares, 1, {0, 1}, bar.palette}, 6);
    svg_.image({x, top_, 14, height}, encode_png(scale));
    for (const auto& [share, text] : bar.ticks) {
      const double y = top_ + height * (1 - share);
      svg_.line({x + 14, y, 4, 0}, "#333333");
      svg_.text(x + 22, y + 4, text, {.anchor = "start"});
    }
    svg_.text(x + bar_width() - 32, top_ + height / 2, bar.label, {.rotation = -90});
  }

  const TileGrid& grid_;
  double width_, height_;                           ///< size of a tile
  double caption_;                                  ///< height of a caption
  double left_, top_;                               ///< position of the first tile
  std::map<std::string, std::string> backgrounds_;  ///< PNGs by pixels
  Svg svg_;
};

}  // namespace

ColorBar color_bar(Palette palette, const ColorRange& range, std::string label) {
  ColorBar bar{palette, std::move(label), {}};
  const std::vector<double> ends{range.low, range.high};
  const Axis axis = axis_around(ends, /*whole_steps=*/false);
  for (int i = 0; i < axis.ticks(); ++i) {
    const double share = range.share(axis.tick(i));
    if (share < -1e-9 || share > 1 + 1e-9) continue;  // outside the range
    bar.ticks.emplace_back(share, tick_label(axis.tick(i), axis.step));
  }
  return bar;
}

ColorBar relative_color_bar(std::string label) {
  return {Palette::viridis, std::move(label), {{0, "least"}, {1, "most"}}};
}

std::string svg_of_tiles(const TileGrid& grid) { return Drawing(grid).draw(); }

Image pale(const Image& image) {
  Image result(image.height, image.width);
  for (std::size_t i = 0; i < image.pixels.size(); i += Image::kChannels) {
    const double luma = 0.299 * image.pixels[i] + 0.587 * image.pixels[i + 1] +
                        0.114 * image.pixels[i + 2];  // ITU-R BT.601
    std::fill_n(result.pixels.begin() + static_cast<std::ptrdiff_t>(i), Image::kChannels,
                static_cast<std::uint8_t>(std::lround(luma)));
  }
  return result;
}

}  // namespace fovea
