// Confusion matrices as heat maps: one hue from white to dark blue, by the square root of the
// share of the true class, so that rare confusions remain visible.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/figures/colormap.h"
#include "data/figures/plot.h"
#include "data/figures/svg.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

/// White at 0, a medium blue at a share of 1/4, dark blue at 1; brightness falls monotonically.
Rgb shade(double share) {
  constexpr std::array<Rgb, 3> stops = {{{255, 255, 255}, {89, 155, 207}, {8, 48, 107}}};
  return color_between(stops, std::sqrt(std::clamp(share, 0.0, 1.0)) * 2);
}

/// The checked counts and their shares of the row.
class Counts {
 public:
  explicit Counts(const ConfusionMatrix& matrix) : matrix_(matrix), totals_(matrix.classes.size()) {
    check(totals_.size() <= kMaxConfusionClasses, "confusion matrix: got ", totals_.size(),
          " classes, expected at most ", kMaxConfusionClasses);
    for (const auto& [cell, count] : matrix.counts) {
      const auto [label, prediction] = cell;
      check(std::min(label, prediction) >= 0 && std::max(label, prediction) < classes(),
            "confusion matrix: got class ", label, " predicted as ", prediction, ", expected 0 to ",
            classes() - 1);
      totals_[static_cast<std::size_t>(label)] += count;
    }
  }

  [[nodiscard]] std::int64_t classes() const { return std::ssize(totals_); }
  [[nodiscard]] std::int64_t total() const {
    return std::accumulate(totals_.begin(), totals_.end(), std::int64_t{0});
  }
  [[nodiscard]] std::int64_t right() const {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < classes(); ++k) sum += matrix_.count(k, k);
    return sum;
  }
  /// Calls use(label, prediction, count, share of the row) for each non-zero count.
  template <class Use>
  void for_each(const Use& use) const {
    for (const auto& [cell, count] : matrix_.counts) {
      if (count == 0) continue;
      const auto total = static_cast<double>(totals_[static_cast<std::size_t>(cell.first)]);
      use(cell.first, cell.second, count, static_cast<double>(count) / total);
    }
  }

 private:
  const ConfusionMatrix& matrix_;
  std::vector<std::int64_t> totals_;
};

/// "top-1 91.2 % of 10000 images"
std::string summary(const Counts& matrix) {
  const auto total = static_cast<double>(matrix.total());
  const double percent = total > 0 ? 100 * static_cast<double>(matrix.right()) / total : 0;
  return "top-1 " + percent_text(percent, 1) + " of " + std::to_string(matrix.total()) + " images";
}

/// The geometry of the picture. Class names need room on the left and, slanted, above.
struct ConfusionLayout {
  double cell, left, top, side;
  bool has_counts;
  std::int64_t label_every;  ///< spacing of labels, so that those of many classes do not overlap

  ConfusionLayout(const Counts& matrix, const std::vector<std::string>& names) {
    const auto classes = static_cast<double>(matrix.classes());
    cell = std::clamp(600 / classes, 4.0, 44.0);
    side = cell * classes;
    has_counts = cell >= 30;
    label_every = static_cast<std::int64_t>(std::ceil(13 / cell));
    std::size_t longest = 0;
    for (const std::string& name : names) longest = std::max(longest, name.size());
    const double room = 7 * static_cast<double>(std::min<std::size_t>(longest, 24));
    left = 50 + room;
    top = 76 + 0.72 * room;
  }
};

void draw_count(Svg& svg, const ConfusionLayout& at, std::int64_t row, std::int64_t column,
                std::int64_t count, std::string_view color) {
  svg.text(at.left + at.cell * (static_cast<double>(column) + 0.5),
           at.top + at.cell * (static_cast<double>(row) + 0.5) + 4, std::to_string(count),
           {.size = 11, .color = color});
}

void draw_cells(Svg& svg, const ConfusionMatrix& confusion, const Counts& matrix,
                const ConfusionLayout& at) {
  const double gap = at.cell >= 8 ? 1 : 0;
  matrix.for_each([&](std::int64_t t, std::int64_t p, std::int64_t count, double share) {
    const double x = at.left + at.cell * static_cast<double>(p);
    const double y = at.top + at.cell * static_cast<double>(t);
    svg.rect({x, y, at.cell - gap, at.cell - gap}, hex(shade(share)));
    if (at.has_counts) draw_count(svg, at, t, p, count, share > 0.3 ? "#ffffff" : "#222222");
  });
  if (!at.has_counts) return;
  for (std::int64_t t = 0; t < matrix.classes(); ++t) {
    for (std::int64_t p = 0; p < matrix.classes(); ++p) {
      if (confusion.count(t, p) == 0) draw_count(svg, at, t, p, 0, "#bbbbbb");
    }
  }
}

void draw_frame(Svg& svg, const ConfusionLayout& at) {
  for (const double offset : {0.0, at.side}) {
    svg.line({at.left, at.top + offset, at.side, 0}, "#888888");
    svg.line({at.left + offset, at.top, 0, at.side}, "#888888");
  }
}

void draw_labels(Svg& svg, const std::vector<std::string>& names, const ConfusionLayout& at) {
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(names.size()); k += at.label_every) {
    const double offset = at.cell * (static_cast<double>(k) + 0.5);
    const std::string& name = names[static_cast<std::size_t>(k)];
    svg.text(at.left - 6, at.top + offset + 4, name, {.anchor = "end"});
    svg.text(at.left + offset, at.top - 6, name, {.anchor = "start", .rotation = -45});
  }
  svg.text(16, at.top + at.side / 2, "true class", {.size = 13, .rotation = -90});
  svg.text(at.left + at.side / 2, at.top + at.side + 20, "predicted class", {.size = 13});
}

/// Draws the colour scale to the right of the matrix.
void draw_scale(Svg& svg, const ConfusionLayout& at) {
  constexpr int kSteps = 50;
  const double x = at.left + at.side + 24, height = at.side / kSteps;
  for (int i = 0; i < kSteps; ++i) {
    const double y = at.top + at.side - height * (i + 1);
    svg.rect({x, y, 14, height + 0.5}, hex(shade(std::pow((i + 0.5) / kSteps, 2))));
  }
  svg.text(x + 20, at.top + 10, "100 %", {.anchor = "start"});
  svg.text(x + 20, at.top + at.side / 2 + 4, "25 %", {.anchor = "start"});
  svg.text(x + 20, at.top + at.side, "0 % of the row", {.anchor = "start"});
}

}  // namespace

std::string svg_of_confusion(const ConfusionMatrix& confusion) {
  const Counts matrix(confusion);
  const std::vector<std::string>& class_names = confusion.classes;
  const ConfusionLayout at(matrix, class_names);
  Svg svg(at.left + at.side + 140, at.top + at.side + 36);
  svg.text(at.left + at.side / 2, 24, "Confusion matrix", {.size = 16, .bold = true});
  svg.text(at.left + at.side / 2, 44, summary(matrix), {.size = 13});
  draw_cells(svg, confusion, matrix, at);
  draw_frame(svg, at);
  draw_labels(svg, class_names, at);
  draw_scale(svg, at);
  return std::move(svg).finish();
}

Image image_of_confusion(const ConfusionMatrix& confusion) {
  const Counts matrix(confusion);
  constexpr std::int64_t kMinSide = 256, kMinCellWithGrid = 6;
  const std::int64_t classes = std::max<std::int64_t>(matrix.classes(), 1);
  const std::int64_t cell = (kMinSide + classes - 1) / classes;
  const std::int64_t grid = cell >= kMinCellWithGrid ? 1 : 0;
  constexpr std::uint8_t kLine = 200;
  Image image(matrix.classes() * cell + grid, matrix.classes() * cell + grid);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const bool on_grid = grid == 1 && (y % cell == 0 || x % cell == 0);
      std::fill_n(image.at(y, x), Image::kChannels, on_grid ? kLine : std::uint8_t{255});
    }
  }
  matrix.for_each([&](std::int64_t t, std::int64_t p, std::int64_t /*count*/, double share) {
    const Rgb color = shade(share);
    for (std::int64_t y = t * cell + grid; y < (t + 1) * cell; ++y) {
      for (std::int64_t x = p * cell + grid; x < (p + 1) * cell; ++x) {
        std::copy(color.begin(), color.end(), image.at(y, x));
      }
    }
  });
  return image;
}

}  // namespace fovea
