// Line charts. Colours are Okabe and Ito's, which colour-blind readers can tell apart; dashes
// repeat the distinction for print.
#include "train/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/check.h"
#include "train/svg.h"

namespace fovea {
namespace {

constexpr double kPanelWidth = 520, kPanelHeight = 340;
constexpr double kLeft = 64, kRight = 16, kTop = 60, kBottom = 48;  // margins around the axes

constexpr std::array<std::string_view, 6> kColors = {"#0072b2", "#d55e00", "#009e73",
                                                     "#cc79a7", "#e69f00", "#56b4e9"};
constexpr std::array<std::string_view, 3> kDashes = {"", "stroke-dasharray=\"7 3\"",
                                                     "stroke-dasharray=\"2 3\""};

std::string line_style(std::size_t index) {
  return "stroke-width=\"2\" stroke-linejoin=\"round\" " +
         std::string(kDashes[index % kDashes.size()]);
}

/// Tick positions low, low + step, ..., high, which enclose the data.
struct Axis {
  double low = 0, high = 1, step = 0.2;

  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
  [[nodiscard]] int ticks() const { return static_cast<int>(std::lround((high - low) / step)) + 1; }
  [[nodiscard]] double tick(int i) const { return low + i * step; }
};

bool is_drawable(double value) { return std::abs(value) < 1e30; }  // false for NaN

/// 1, 2 or 5 times a power of ten.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

Axis axis_around(std::span<const double> values, bool whole_steps) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!is_drawable(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {};
  const double least_range = whole_steps ? 1.0 : std::max(1e-9, std::abs(high) * 1e-6);
  if (high - low < least_range) high = low + least_range;
  double step = round_step((high - low) / 6);
  if (whole_steps) step = std::max(step, 1.0);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step};
}

/// As many decimals as the step needs.
std::string tick_label(double value, double step) {
  std::array<char, 64> text{};
  const double size = std::max(std::abs(value), step);
  if (size >= 1e6 || step < 1e-4) {
    std::snprintf(text.data(), text.size(), "%.3g", std::abs(value) < step / 2 ? 0.0 : value);
  } else {
    const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  }
  return text.data();
}

/// One chart whose upper left corner lies at (left, 0).
class Panel {
 public:
  Panel(Svg& svg, const Chart& chart, double left) : svg_(svg), chart_(chart), left_(left) {
    std::vector<double> x, y;
    for (const Series& series : chart.series) {
      check(series.x.size() == series.y.size(), "chart: series ", series.name, " has ",
            series.x.size(), " x and ", series.y.size(), " y values");
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        if (!is_drawable(series.x[i]) || !is_drawable(series.y[i])) continue;
        x.push_back(series.x[i]);
        y.push_back(series.y[i]);
      }
    }
    x_axis_ = axis_around(x, /*whole_steps=*/true);
    y_axis_ = axis_around(y, /*whole_steps=*/false);
  }

  void draw() {
    draw_grid();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw_series(i);
    draw_texts();
  }

 private:
  [[nodiscard]] double px(double x) const {
    return left_ + kLeft + x_axis_.share(x) * (kPanelWidth - kLeft - kRight);
  }
  [[nodiscard]] double py(double y) const {
    return kPanelHeight - kBottom - y_axis_.share(y) * (kPanelHeight - kTop - kBottom);
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

  void draw_series(std::size_t index) {
    const Series& series = chart_.series[index];
    const std::string_view color = kColors[index % kColors.size()];
    std::string path;
    std::size_t run = 0;  // drawable points since the last gap
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const bool drawable = is_drawable(series.x[i]) && is_drawable(series.y[i]);
      run = drawable ? run + 1 : 0;
      if (!drawable) continue;
      const double x = px(series.x[i]), y = py(series.y[i]);
      path += (run == 1 ? " M " : " L ") + Svg::number(x) + " " + Svg::number(y);
      if (series.x.size() <= 30) svg_.circle(x, y, color);
    }
    if (!path.empty()) svg_.path(path.substr(1), color, line_style(index));
  }

  void draw_texts() {
    const double middle = left_ + kLeft + (kPanelWidth - kLeft - kRight) / 2;
    svg_.text(middle, 22, chart_.title, {.size = 15, .bold = true});
    svg_.text(middle, kPanelHeight - 10, chart_.x_label);
    svg_.text(left_ + 16, kTop + (kPanelHeight - kTop - kBottom) / 2, chart_.y_label,
              {.rotation = -90});
    double x = left_ + kLeft;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {  // the legend, in one row
      const std::string_view color = kColors[i % kColors.size()];
      svg_.path("M " + Svg::number(x) + " 42 l 26 0", color, line_style(i));
      svg_.text(x + 32, 46, chart_.series[i].name, {.anchor = "start"});
      x += 50 + 7 * static_cast<double>(chart_.series[i].name.size());
    }
  }

  Svg& svg_;
  const Chart& chart_;
  double left_;
  Axis x_axis_, y_axis_;
};

/// The values of one column; nothing when no row has one.
template <class Get>
void add_series(Chart& chart, std::string name, std::span<const EpochRow> rows, Get&& get) {
  Series series{std::move(name), {}, {}};
  for (const EpochRow& row : rows) {
    const std::optional<double> value = get(row);
    if (!value) continue;
    series.x.push_back(static_cast<double>(row.epoch + 1));
    series.y.push_back(*value);
  }
  if (!series.x.empty()) chart.series.push_back(std::move(series));
}

}  // namespace

std::string svg_of_charts(std::span<const Chart> charts) {
  Svg svg(kPanelWidth * static_cast<double>(std::max<std::size_t>(charts.size(), 1)), kPanelHeight);
  for (std::size_t i = 0; i < charts.size(); ++i) {
    Panel(svg, charts[i], kPanelWidth * static_cast<double>(i)).draw();
  }
  return std::move(svg).finish();
}

std::vector<Chart> training_curves(std::span<const EpochRow> rows) {
  Chart loss{"Loss", "epochs", "mean loss per sample", {}};
  add_series(loss, "training", rows, [](const EpochRow& r) { return std::optional(r.train_loss); });
  add_series(loss, "held out", rows, [](const EpochRow& r) { return r.eval_loss; });
  add_series(loss, "held out, EMA", rows, [](const EpochRow& r) { return r.ema_loss; });
  Chart accuracy{"Accuracy on held-out images", "epochs", "percent", {}};
  add_series(accuracy, "top-1", rows, [](const EpochRow& r) { return r.eval_top1; });
  add_series(accuracy, "top-5", rows, [](const EpochRow& r) { return r.eval_top5; });
  add_series(accuracy, "top-1, EMA", rows, [](const EpochRow& r) { return r.ema_top1; });
  return {std::move(loss), std::move(accuracy)};
}

}  // namespace fovea
