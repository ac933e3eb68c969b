// Line charts. The colours are Okabe and Ito's, which colour-blind readers can distinguish; dashes
// repeat the distinction in print.
#include "data/figures/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "data/figures/axis.h"
#include "data/figures/svg.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr double kPanelWidth = 520, kPanelHeight = 340;
constexpr double kLeft = 64, kRight = 16, kTop = 60, kBottom = 48;  // margins around the axes
constexpr double kLegendRow = 18;
constexpr double kBarGroup = 0.8;  // share of the distance between two x values
constexpr std::string_view kCrowd = "#9ec9e2", kReference = "#777777";

constexpr std::array<std::string_view, 6> kColors = {"#0072b2", "#d55e00", "#009e73",
                                                     "#cc79a7", "#e69f00", "#56b4e9"};
constexpr std::array<std::string_view, 3> kDashes = {"", "stroke-dasharray=\"7 3\"",
                                                     "stroke-dasharray=\"2 3\""};

/// The line style of a series: after the last colour, the first returns with another dash pattern.
std::string line_style(std::size_t index) {
  return "stroke-width=\"2\" stroke-linejoin=\"round\" " +
         std::string(kDashes[(index + index / kColors.size()) % kDashes.size()]);
}

/// One chart with its upper left corner at (left, 0).
class Panel {
 public:
  Panel(Svg& svg, const Chart& chart, double left) : svg_(svg), chart_(chart), left_(left) {
    std::vector<double> x, y = chart.y_within;
    std::map<double, double> stacks;
    for (const Series& series : chart.series) {
      check(series.x.size() == series.y.size(), "chart: series ", series.name, " has ",
            series.x.size(), " x and ", series.y.size(), " y values");
      const bool bars = series.mark == Mark::bar;
      bar_series_ += bars ? 1 : 0;
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (!is_drawable(series.x[i]) || !is_drawable(series.y[i])) continue;
        x.push_back(series.x[i]);
        y.push_back(series.y[i]);
        if (!bars) continue;
        if (chart.stacked) y.push_back(stacks[series.x[i]] += series.y[i]);
        y.push_back(0);
        x.push_back(series.x[i] - 0.5);
        x.push_back(series.x[i] + 0.5);
      }
    }
    x_axis_ = axis_around(x, /*whole_steps=*/true);
    y_axis_ = axis_around(y, /*whole_steps=*/false);
    place_legend();
  }

  void draw() {
    draw_grid();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].mark == Mark::bar) draw_bars(i);
    }
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].mark != Mark::bar) draw_line(i);
    }
    draw_texts();
    draw_legend();
  }

 private:
  struct LegendEntry {
    std::size_t series;
    double x, y;  ///< baseline of the text, to the right of its sample line
  };

  [[nodiscard]] double px(double x) const {
    return left_ + kLeft + x_axis_.share(x) * (kPanelWidth - kLeft - kRight);
  }
  [[nodiscard]] double py(double y) const {
    return kPanelHeight - kBottom - y_axis_.share(y) * (kPanelHeight - kBottom - top_);
  }
  [[nodiscard]] std::string_view color(std::size_t index) const {
    if (is_reference(index)) return kReference;
    const bool crowd = chart_.series[index].mark == Mark::bar && !chart_.stacked;
    return crowd ? kCrowd : chart_color(index);
  }
  [[nodiscard]] std::string style(std::size_t index) const {
    return line_style(is_reference(index) ? 1 : index);
  }
  [[nodiscard]] bool is_reference(std::size_t index) const {
    return chart_.series[index].mark == Mark::reference;
  }

  /// Lays out the legend in as many rows as it needs; the axes start below it.
  void place_legend() {
    double x = left_ + kLeft, y = 46;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].name.empty()) continue;
      const double width = 50 + 7 * static_cast<double>(chart_.series[i].name.size());
      if (x > left_ + kLeft && x + width - 18 > left_ + kPanelWidth) {
        x = left_ + kLeft;
        y += kLegendRow;
      }
      legend_.push_back({i, x, y});
      x += width;
    }
    top_ = kTop + y - 46;
  }

  void draw_grid() {
    const double width = kPanelWidth - kLeft - kRight, bottom = kPanelHeight - kBottom;
    for (int i = 0; i < y_axis_.ticks(); ++i) {
      const double y = py(y_axis_.tick(i));
      svg_.line({left_ + kLeft, y, width, 0}, "#e0e0e0");
      svg_.text(left_ + kLeft - 8, y + 4, tick_label(y_axis_.tick(i), y_axis_.step),
                {.anchor = "end"});
    }
    for (int i = 0; i < x_axis_.ticks(); ++i) {
      const double x = px(x_axis_.tick(i));
      svg_.line({x, bottom, 0, 5}, "#333333");
      svg_.text(x, bottom + 19, tick_label(x_axis_.tick(i), x_axis_.step));
    }
    svg_.line({left_ + kLeft, bottom, width, 0}, "#333333");
  }

  void draw_bars(std::size_t index) {
    const Series& series = chart_.series[index];
    const double members = chart_.stacked ? 1 : static_cast<double>(bar_series_);
    const double width = kBarGroup / members;
    const double shift = chart_.stacked ? 0 : width * static_cast<double>(bars_drawn_++);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!is_drawable(series.x[i]) || !is_drawable(series.y[i])) continue;
      double& stack = stacks_[series.x[i]];
      const double from = chart_.stacked ? stack : 0.0, to = from + series.y[i];
      stack = to;
      const double left = px(series.x[i] - kBarGroup / 2 + shift);
      const double right = px(series.x[i] - kBarGroup / 2 + shift + width);
      const double gap = right - left > 4 ? 1 : 0.3;
      const double top = std::min(py(from), py(to));
      svg_.rect({left, top, right - left - gap, std::abs(py(to) - py(from))}, color(index));
    }
  }

  void draw_line(std::size_t index) {
    const Series& series = chart_.series[index];
    std::string path;
    std::size_t run = 0;  // drawable points since the last gap
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const bool drawable = is_drawable(series.x[i]) && is_drawable(series.y[i]);
      run = drawable ? run + 1 : 0;
      if (!drawable) continue;
      const double x = px(series.x[i]), y = py(series.y[i]);
      path += (run == 1 ? " M " : " L ") + Svg::number(x) + " " + Svg::number(y);
      if (series.x.size() <= 30 && !is_reference(index)) svg_.circle(x, y, color(index));
    }
    if (!path.empty()) svg_.path(path.substr(1), color(index), style(index));
  }

  void draw_texts() {
    const double middle = left_ + kLeft + (kPanelWidth - kLeft - kRight) / 2;
    svg_.text(middle, 22, chart_.title, {.size = 15, .bold = true});
    svg_.text(middle, kPanelHeight - 10, chart_.x_label);
    svg_.text(left_ + 16, top_ + (kPanelHeight - top_ - kBottom) / 2, chart_.y_label,
              {.rotation = -90});
  }

  void draw_legend() {
    for (const LegendEntry& entry : legend_) {
      const Series& series = chart_.series[entry.series];
      if (series.mark == Mark::bar) {
        svg_.rect({entry.x + 6, entry.y - 10, 14, 12}, color(entry.series));
      } else {
        svg_.path("M " + Svg::number(entry.x) + " " + Svg::number(entry.y - 4) + " l 26 0",
                  color(entry.series), style(entry.series));
      }
      svg_.text(entry.x + 32, entry.y, series.name, {.anchor = "start"});
    }
  }

  Svg& svg_;
  const Chart& chart_;
  double left_;
  double top_ = kTop;  ///< upper edge of the axes
  Axis x_axis_, y_axis_;
  std::vector<LegendEntry> legend_;
  std::size_t bar_series_ = 0, bars_drawn_ = 0;
  std::map<double, double> stacks_;  ///< accumulated height of the bars at each x
};

}  // namespace

std::string_view chart_color(std::size_t index) { return kColors[index % kColors.size()]; }

void share_y_axis(std::vector<Chart>& charts) {
  std::vector<double> values;
  for (const Chart& chart : charts) {
    for (const Series& series : chart.series) {
      values.insert(values.end(), series.y.begin(), series.y.end());
    }
  }
  for (Chart& chart : charts) chart.y_within = values;
}

std::string svg_of_charts(std::span<const Chart> charts, std::size_t columns) {
  const std::size_t count = std::max<std::size_t>(charts.size(), 1);
  const std::size_t across = columns == 0 ? count : std::min(columns, count);
  const std::size_t rows = (count + across - 1) / across;
  Svg svg(kPanelWidth * static_cast<double>(across), kPanelHeight * static_cast<double>(rows));
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::size_t row = i / across;
    if (row > 0 && i % across == 0) svg.move_down(kPanelHeight);
    Panel(svg, charts[i], kPanelWidth * static_cast<double>(i % across)).draw();
  }
  return std::move(svg).finish();
}

}  // namespace fovea
