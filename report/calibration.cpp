// Calibration: bins of confidence, their errors, CSV and the reliability diagram.
#include "report/calibration.h"

#include <algorithm>
#include <cmath>

#include "data/figures/svg.h"
#include "engine/base/csv.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

// The layout in pixels: the diagram is a square, the counts lie below it on the same x axis.
constexpr double kSide = 300, kLeft = 64, kTop = 66, kGap = 34, kCountHeight = 80;
constexpr double kCountTop = kTop + kSide + kGap;
constexpr double kWidth = kLeft + kSide + 36, kHeight = kCountTop + kCountHeight + 48;
constexpr std::string_view kBar = "#0072b2", kGapColor = "#e8998d", kGrid = "#e0e0e0";

double share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

double px(double confidence) { return kLeft + confidence * kSide; }
double py(double accuracy) { return kTop + (1 - accuracy) * kSide; }
double bin_edge(std::size_t bin) {
  return static_cast<double>(bin) / static_cast<double>(Calibration::kBins);
}

void draw_axes(Svg& svg) {
  for (int i = 0; i <= 5; ++i) {
    const double at = i / 5.0;
    const std::string label = std::to_string(20 * i);
    svg.line({kLeft, py(at), kSide, 0}, kGrid);
    svg.text(kLeft - 8, py(at) + 4, label, {.anchor = "end"});
    svg.line({px(at), kCountTop + kCountHeight, 0, 5}, "#333333");
    svg.text(px(at), kCountTop + kCountHeight + 19, label);
  }
  svg.line({kLeft, kTop + kSide, kSide, 0}, "#333333");
  svg.line({kLeft, kCountTop + kCountHeight, kSide, 0}, "#333333");
  svg.text(kLeft + kSide / 2, kHeight - 8, "confidence, percent");
  svg.text(16, kTop + kSide / 2, "accuracy, percent", {.rotation = -90});
  svg.text(16, kCountTop + kCountHeight / 2, "images", {.rotation = -90});
}

void draw_legend(Svg& svg) {
  svg.rect({kLeft, 40, 14, 12}, kBar);
  svg.text(kLeft + 20, 50, "accuracy", {.anchor = "start"});
  svg.rect({kLeft + 96, 40, 14, 12}, kGapColor);
  svg.text(kLeft + 116, 50, "gap to the confidence", {.anchor = "start"});
}

}  // namespace

double Calibration::Bin::accuracy() const {
  return share(static_cast<double>(right), static_cast<double>(images));
}
double Calibration::Bin::mean_confidence() const {
  return share(confidence_sum, static_cast<double>(images));
}

Calibration::Calibration(std::span<const Prediction> predictions) {
  for (const Prediction& p : predictions) add(p.confidence, p.is_right());
}

void Calibration::add(double confidence, bool is_right) {
  if (!std::isfinite(confidence)) {
    confidence = 0;
    is_right = false;
  }
  const double position = std::ceil(std::clamp(confidence, 0.0, 1.0) * kBins);  // 1 to M; 0 at 0
  Bin& bin = bins_[static_cast<std::size_t>(std::max(position, 1.0)) - 1];
  ++bin.images;
  bin.right += is_right ? 1 : 0;
  bin.confidence_sum += confidence;
}

std::int64_t Calibration::images() const {
  std::int64_t total = 0;
  for (const Bin& bin : bins_) total += bin.images;
  return total;
}

double Calibration::expected_error() const {
  double sum = 0;
  for (const Bin& bin : bins_) {
    sum += static_cast<double>(bin.images) * std::abs(bin.accuracy() - bin.mean_confidence());
  }
  return 100 * share(sum, static_cast<double>(images()));
}

double Calibration::maximum_error() const {
  double most = 0;
  for (const Bin& bin : bins_)
    most = std::max(most, std::abs(bin.accuracy() - bin.mean_confidence()));
  return 100 * most;
}

double Calibration::overconfidence() const {
  double sum = 0;
  for (const Bin& bin : bins_) sum += bin.confidence_sum - static_cast<double>(bin.right);
  return 100 * share(sum, static_cast<double>(images()));
}

std::string Calibration::csv() const {
  Csv csv("from,to,images,right,accuracy,mean_confidence");
  const auto text = [](double share) { return general_text(share, 6); };
  for (std::size_t m = 0; m < kBins; ++m) {
    const Bin& bin = bins_[m];
    csv.row(text(bin_edge(m)), text(bin_edge(m + 1)), bin.images, bin.right, text(bin.accuracy()),
            text(bin.mean_confidence()));
  }
  return csv.text();
}

std::string Calibration::svg() const {
  Svg svg(kWidth, kHeight);
  svg.text(kWidth / 2, 24, "Expected calibration error " + percent_text(expected_error()),
           {.size = 15, .bold = true});
  draw_legend(svg);
  draw_axes(svg);
  std::int64_t most = 1;
  for (const Bin& bin : bins_) most = std::max(most, bin.images);
  for (std::size_t m = 0; m < kBins; ++m) {
    const Bin& bin = bins_[m];
    if (bin.images == 0) continue;
    const double x = px(bin_edge(m)) + 0.5, width = kSide / kBins - 1;
    const double accuracy = bin.accuracy(), confidence = bin.mean_confidence();
    svg.rect({x, py(accuracy), width, kSide * accuracy}, kBar);
    const double top = std::max(accuracy, confidence), low = std::min(accuracy, confidence);
    svg.rect({x, py(top), width, kSide * (top - low)}, kGapColor);
    const double height =
        kCountHeight * static_cast<double>(bin.images) / static_cast<double>(most);
    svg.rect({x, kCountTop + kCountHeight - height, width, height}, "#9ec9e2");
  }
  svg.path("M " + Svg::number(px(0)) + " " + Svg::number(py(0)) + " L " + Svg::number(px(1)) + " " +
               Svg::number(py(1)),
           "#333333", "stroke-dasharray=\"5 4\"");
  svg.text(kLeft - 8, kCountTop + 10, std::to_string(most), {.anchor = "end", .size = 11});
  return std::move(svg).finish();
}

}  // namespace fovea
