// Separable resampling as in Pillow 13, usually horizontal first. For 8-bit images each pass is
// rounded to 8 bits, with fixed-point weights.
#include "data/geometry/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "data/geometry/resize_passes.h"
#include "data/geometry/resize_values.h"
#include "data/geometry/transforms.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/names.h"

namespace fovea {
namespace {

/// A filter kernel: value(x) is zero for |x| > support.
struct Kernel {
  double (*value)(double x);
  double support;
};

double sinc(double x) {
  return x == 0 ? 1 : std::sin(x * std::numbers::pi) / (x * std::numbers::pi);
}

double box_value(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double bilinear_value(double x) { return std::max(0.0, 1 - std::abs(x)); }

double hamming_value(double x) {
  if (std::abs(x) >= 1) return 0;
  constexpr double high = 0.54F, low = 0.46F;  // Pillow's constants are f32
  return sinc(x) * (high + low * std::cos(x * std::numbers::pi));
}

double bicubic_value(double x) {  // Keys' cubic with a = -1/2
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double lanczos_value(double x) { return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

Kernel kernel_of(Filter filter) {
  switch (filter) {
    case Filter::box:
      return {box_value, 0.5};
    case Filter::bilinear:
      return {bilinear_value, 1};
    case Filter::hamming:
      return {hamming_value, 1};
    case Filter::lanczos:
      return {lanczos_value, 3};
    default:
      return {bicubic_value, 2};
  }
}

/// One axis of the source: the part that is read (f32 as in Pillow), the number of outputs, and
/// those of them that are computed.
struct Axis {
  std::int64_t size;
  float begin, end;
  std::int64_t outputs;
  std::int64_t first_output, end_output;

  /// Source pixels per output; the difference is computed in f32.
  [[nodiscard]] double scale() const {
    return static_cast<double>(end - begin) / static_cast<double>(outputs);
  }

  [[nodiscard]] bool is_identity() const {
    return begin == 0 && end == static_cast<float>(outputs) && outputs == size;
  }
  [[nodiscard]] std::int64_t computed() const { return end_output - first_output; }
};

AxisWeights make_weights(const Axis& axis, const Kernel& kernel) {
  const double scale = axis.scale();
  const double stretch = std::max(scale, 1.0), support = kernel.support * stretch;
  AxisWeights weights;
  weights.taps = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;
  weights.values.resize(static_cast<std::size_t>(weights.taps * axis.computed()));

  std::vector<double> row(static_cast<std::size_t>(weights.taps));
  for (std::int64_t i = 0; i < axis.computed(); ++i) {
    const auto output = static_cast<double>(axis.first_output + i);
    const double center = axis.begin + (output + 0.5) * scale;
    const auto from = static_cast<std::int64_t>(std::floor(std::max(0.0, center - support + 0.5)));
    const auto to =
        std::min(static_cast<std::int64_t>(std::floor(center + support + 0.5)), axis.size);
    double sum = 0;
    for (std::int64_t k = 0; k < to - from; ++k) {
      row[k] = kernel.value((static_cast<double>(k + from) - center + 0.5) * (1 / stretch));
      sum += row[k];
    }
    for (std::int64_t k = 0; k < to - from; ++k) {
      weights.values[i * weights.taps + k] = sum != 0 ? row[k] / sum : row[k];
    }
    weights.first.push_back(from);
    weights.count.push_back(to - from);
  }
  return weights;
}

/// The source index of each output. Pillow accumulates the step instead of multiplying; the last
/// bit of a position can decide which pixel is nearest.
std::vector<std::int64_t> nearest_indices(const Axis& axis) {
  const double step = axis.scale();
  double position = axis.begin + step * 0.5;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < axis.end_output; ++i, position += step) {
    if (i < axis.first_output) continue;
    indices.push_back(
        std::clamp<std::int64_t>(static_cast<std::int64_t>(position), 0, axis.size - 1));
  }
  return indices;
}

Image resize_nearest(const Image& image, const Axis& rows, const Axis& columns) {
  const auto ys = nearest_indices(rows), xs = nearest_indices(columns);
  Image result(rows.computed(), columns.computed(), image.format);
  const std::int64_t bytes = image.format.bytes();
  for (std::int64_t y = 0; y < result.height; ++y)
    for (std::int64_t x = 0; x < result.width; ++x)
      std::copy_n(image.at(ys[y], xs[x]), bytes, result.at(y, x));
  return result;
}

/// Whether to resize vertically first: if the height shrinks by more than twice the factor of the
/// width, this leaves fewer pixels. Pillow decides by the sizes of the whole images, whatever part
/// is read; versions before 13 always start horizontally.
bool begins_vertically(ImageSize from, ImageSize to) {
  const std::int64_t lost = from.height - to.height;
  return lost > 0 && lost > 2 * (from.width - to.width);
}

Image resize_bytes(Image image, const ResizePasses& passes) {
  const auto vertical = [&] {
    if (passes.rows != nullptr) image = resize_vertically(image, fixed_point(*passes.rows));
  };
  if (passes.vertical_first) vertical();
  if (passes.columns != nullptr) image = resize_horizontally(image, fixed_point(*passes.columns));
  if (!passes.vertical_first) vertical();
  return image;
}

/// Moves the weights to begin at the first source pixel that they read; returns the range of those.
std::pair<std::int64_t, std::int64_t> trim(AxisWeights& weights) {
  std::int64_t first = weights.first.front(), end = 0;
  for (std::size_t i = 0; i < weights.first.size(); ++i) {
    first = std::min(first, weights.first[i]);
    end = std::max(end, weights.first[i] + weights.count[i]);
  }
  for (std::int64_t& at : weights.first) at -= first;
  return {first, end};
}

/// The weights of an axis and the range of source pixels that they read; an axis that stays as it
/// is has no weights.
struct AxisPlan {
  std::optional<AxisWeights> weights;
  std::int64_t first, end;

  AxisPlan(const Axis& axis, const Kernel& kernel)
      : first(axis.first_output), end(axis.end_output) {
    if (axis.is_identity()) return;
    weights = make_weights(axis, kernel);
    std::tie(first, end) = trim(*weights);
  }
  [[nodiscard]] const AxisWeights* passed() const { return weights ? &*weights : nullptr; }
};

Image resize_axes(const Image& image, const Axis& rows, const Axis& columns, Filter filter) {
  for (const Axis& axis : {rows, columns})
    check(0 <= axis.begin && axis.begin < axis.end && axis.end <= static_cast<float>(axis.size),
          "resize: got the range ", axis.begin, " to ", axis.end, " of a side of ", axis.size,
          " pixels, expected a part of it");
  if (filter == Filter::nearest) return resize_nearest(image, rows, columns);
  const Kernel kernel = kernel_of(filter);
  const AxisPlan down(rows, kernel), across(columns, kernel);
  const PixelBox read{down.first, down.end, across.first, across.end};
  const bool reads_all = read.size() == image.size();
  const Image source = reads_all ? Image() : crop(image, read.top, read.left, read.size());
  const ResizePasses passes{down.passed(), across.passed(),
                            begins_vertically(image.size(), {rows.outputs, columns.outputs})};
  const Image& whole = reads_all ? image : source;
  return image.format.type == PixelType::u8 ? resize_bytes(whole, passes)
                                            : resize_values(whole, passes);
}

void check_size(ImageSize size) {
  check(size.height >= 1 && size.width >= 1, "resize: got size ", size.height, " x ", size.width,
        ", expected at least 1 x 1");
}

}  // namespace

Image resize(const Image& image, ImageSize size, Filter filter) {
  return resize(image, size, filter,
                {0, 0, static_cast<double>(image.height), static_cast<double>(image.width)});
}

Image resize(const Image& image, ImageSize size, Filter filter, SourceBox box) {
  check_size(size);
  const Axis rows{
      image.height, static_cast<float>(box.top), static_cast<float>(box.bottom), size.height, 0,
      size.height};
  const Axis columns{
      image.width, static_cast<float>(box.left), static_cast<float>(box.right), size.width, 0,
      size.width};
  return resize_axes(image, rows, columns, filter);
}

Image resize_part(const Image& image, ImageSize size, Filter filter, const PixelBox& part) {
  check_size(size);
  const auto axis = [](std::int64_t side, std::int64_t outputs, std::int64_t first,
                       std::int64_t end) {
    check(0 <= first && first < end && end <= outputs, "resize: got the part ", first, " to ", end,
          " of ", outputs, " pixels");
    return Axis{side, 0, static_cast<float>(side), outputs, first, end};
  };
  return resize_axes(image, axis(image.height, size.height, part.top, part.bottom),
                     axis(image.width, size.width, part.left, part.right), filter);
}

}  // namespace fovea
