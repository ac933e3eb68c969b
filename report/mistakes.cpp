// Ranking of wrong predictions, and the layout of their pictures.
#include "report/mistakes.h"

#include <algorithm>
#include <cmath>

#include "data/figures/colormap.h"
#include "data/figures/svg.h"
#include "data/geometry/evaluation_transform.h"
#include "engine/base/csv.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::int64_t kColumns = 6;
constexpr double kTile = 150, kTileGap = 14, kCaption = 52, kMargin = 16, kTitle = 34;

/// At most `length` bytes, truncated between UTF-8 characters.
std::string shortened(const std::string& text, std::size_t length) {
  if (text.size() <= length) return text;
  std::size_t end = length - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "\u2026";
}

/// Small pictures are upscaled here, so that viewers do not smooth them.
std::string sharp_png(const Image& image) {
  const auto side = static_cast<double>(std::max(image.height, image.width));
  const auto factor = static_cast<std::int64_t>(std::ceil(kTile / side));
  return encode_png(factor > 1 ? enlarged(image, std::min<std::int64_t>(factor, 64)) : image);
}

void draw(Svg& svg, const Mistake& mistake, double x, double y) {
  const auto height = static_cast<double>(mistake.image.height);
  const auto width = static_cast<double>(mistake.image.width);
  const double scale = kTile / std::max(height, width);
  const double left = x + (kTile - width * scale) / 2, top = y + (kTile - height * scale) / 2;
  svg.image({left, top, width * scale, height * scale}, sharp_png(mistake.image));
  const double middle = x + kTile / 2;
  svg.text(middle, y + kTile + 16, shortened(mistake.label, 22), {.size = 12});
  svg.text(middle, y + kTile + 32, "predicted " + shortened(mistake.prediction, 16),
           {.size = 12, .color = "#b2182b", .bold = true});
  svg.text(middle, y + kTile + 47, "confidence " + percent_text(100 * mistake.what.confidence, 1),
           {.size = 11});
}

}  // namespace

std::vector<Prediction> worst_mistakes(std::span<const Prediction> predictions,
                                       std::int64_t count) {
  std::vector<Prediction> wrong;
  for (const Prediction& p : predictions) {
    if (!p.is_right() && std::isfinite(p.confidence)) wrong.push_back(p);
  }
  std::stable_sort(wrong.begin(), wrong.end(), [](const Prediction& a, const Prediction& b) {
    return a.confidence != b.confidence ? a.confidence > b.confidence : a.index < b.index;
  });
  if (std::ssize(wrong) > count) wrong.resize(static_cast<std::size_t>(count));
  return wrong;
}

std::vector<Mistake> worst_mistakes(std::span<const Prediction> predictions, std::int64_t count,
                                    const Dataset& dataset,
                                    const EvaluationTransform& preparation) {
  std::vector<Mistake> mistakes;
  for (const Prediction& p : worst_mistakes(predictions, count)) {
    const std::vector<std::string>& names = dataset.class_names();
    mistakes.push_back({p, prepare_for_evaluation(dataset.get(p.index).image, preparation),
                        dataset.describe(p.index), names.at(static_cast<std::size_t>(p.label)),
                        names.at(static_cast<std::size_t>(p.prediction))});
  }
  return mistakes;
}

std::string svg_of_mistakes(std::span<const Mistake> mistakes) {
  const std::int64_t count = std::ssize(mistakes);
  // At least 3 columns, so that the title fits.
  const auto columns = static_cast<double>(std::clamp<std::int64_t>(count, 3, kColumns));
  const auto rows = static_cast<double>((count + kColumns - 1) / kColumns);
  Svg svg(2 * kMargin + columns * (kTile + kTileGap) - kTileGap,
          kMargin + kTitle + rows * (kTile + kCaption + kTileGap));
  svg.text(kMargin, 28, count > 0 ? "Most confident mistakes" : "No mistakes",
           {.anchor = "start", .size = 15, .bold = true});
  for (std::int64_t i = 0; i < count; ++i) {
    draw(svg, mistakes[static_cast<std::size_t>(i)],
         kMargin + static_cast<double>(i % kColumns) * (kTile + kTileGap),
         kMargin + kTitle + static_cast<double>(i / kColumns) * (kTile + kCaption + kTileGap));
  }
  return std::move(svg).finish();
}

Image sheet_of_mistakes(std::span<const Mistake> mistakes) {
  check(!mistakes.empty(), "sheet_of_mistakes: got none, expected at least one");
  // Pictures are one pixel apart; the last one needs no gap.
  const std::int64_t height = mistakes.front().image.height + 1;
  const std::int64_t width = mistakes.front().image.width + 1;
  const std::int64_t across = std::min(kColumns, std::ssize(mistakes));
  Image sheet((std::ssize(mistakes) + across - 1) / across * height - 1, across * width - 1);
  for (std::int64_t i = 0; i < std::ssize(mistakes); ++i) {
    const Image& image = mistakes[static_cast<std::size_t>(i)].image;
    check(image.height == height - 1 && image.width == width - 1,
          "sheet_of_mistakes: got images of different sizes");
    for (std::int64_t y = 0; y < image.height; ++y) {
      std::copy_n(image.at(y, 0), image.width * Image::kChannels,
                  sheet.at(i / across * height + y, i % across * width));
    }
  }
  return sheet;
}

std::string csv_of_mistakes(std::span<const Mistake> mistakes) {
  Csv csv("image,name,label,prediction,probability");
  for (const Mistake& m : mistakes) {
    csv.row(m.what.index, m.name, m.label, m.prediction, m.what.confidence);
  }
  return csv.text();
}

}  // namespace fovea
