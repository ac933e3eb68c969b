// data/geometry/resize.cpp in the terms of a graph. An axis is a product with a matrix of weights,
// which the graph computes in f64 and rounds to 22 fractional bits, as Pillow does. A weight is
// split into 256 high + low, so that sums of each with levels are integers below 2^24, which f32
// holds. Levels are rounded after each axis.
#include "export/image_resize.h"

#include <numbers>

namespace fovea::onnx {
namespace {

constexpr double kWeight = 1 << 22, kPart = 1 << 8;

/// sin(pi x) / (pi x).
Expression sinc(const Expression& x) {
  const Expression angle = x * std::numbers::pi;
  const Expression is_zero(x.writer(), DType::u8, x.then("Equal", {x.number(0).name()}).name());
  return where(is_zero, x.number(1), angle.then("Sin") / angle);
}

/// 1 where |x| < most.
Expression within(const Expression& x, double most) { return step(x.number(most), abs(x)); }

/// How far pixels are from the centres of outputs.
struct Distances {
  Expression pixel, center, stretch;
  Expression x;            ///< in units of the filter
  Expression parts, unit;  ///< the same as parts / unit: integers, exact in f32 too
};

/// A filter's values times any factor, in two parts: 22 bits of a weight are too many for f32.
struct FilterValues {
  Expression high, low;
};

FilterValues whole(const Expression& value) { return {value, value * 0}; }

/// Keys' cubic with a = -1/2: exact at the nearest i / 128, and Taylor's terms for the rest.
FilterValues bicubic(const Distances& d) {
  constexpr double n = 128, part = 1 << 13;
  const Expression r = abs(d.x), parts = abs(d.parts), i = floor(r * n + 0.5);
  const Expression inside = step(d.unit, parts), outside = inside.number(1) - inside;
  const Expression c3 = inside * 2 - 0.5, c2 = outside * 5 - 2.5, c1 = outside * -4,
                   c0 = outside + 1;
  const Expression cubed = ((c3 * i + c2 * n) * i + c1 * (n * n)) * i + c0 * (n * n * n);

  const Expression at = i / n, rest = (parts * n - i * d.unit) / (d.unit * n);
  const Expression slope = (c3 * at * 3 + c2 * 2) * at + c1, bend = c3 * at * 3 + c2;
  const Expression change = ((c3 * rest + bend) * rest + slope) * rest;

  const Expression is_within = step(d.unit * 2, parts), high = floor(cubed / part);
  const Expression low = cubed / part - high + change * (n * n * n / part);
  return {high * is_within, low * is_within};
}

/// The only filter that is not zero where it ends: Pillow rounds its ends to whole pixels besides.
FilterValues box(const Distances& d) {
  const Expression reach = d.stretch * 0.5;
  const Expression from = floor(d.center - reach + 0.5), to = floor(d.center + reach + 0.5);
  const Expression is_read = step(d.pixel, from - 0.5) * step(to - 0.5, d.pixel);
  return whole((step(d.x, d.x.number(-0.5)) - step(d.x, d.x.number(0.5))) * is_read);
}

/// `unit` times the filter. Its sums are often halfway between two levels, so nothing is rounded.
FilterValues bilinear(const Distances& d) {
  return whole(max(d.unit - abs(d.parts), d.unit.number(0)));
}

FilterValues hamming(const Distances& d) {
  const Expression& x = d.x;
  constexpr double high = 0.54F, low = 0.46F;  // Pillow's constants are f32
  const Expression window = (x * std::numbers::pi).then("Cos") * low + high;
  return whole(sinc(x) * window * within(x, 1));
}

FilterValues lanczos(const Distances& d) {
  return whole(sinc(d.x) * sinc(d.x / 3) * within(d.x, 3));
}

using Kernel = FilterValues (*)(const Distances& d);

Kernel kernel_of(Filter filter) {
  switch (filter) {
    case Filter::box:
      return box;
    case Filter::bilinear:
      return bilinear;
    case Filter::hamming:
      return hamming;
    case Filter::lanczos:
      return lanczos;
    default:
      return bicubic;
  }
}

/// 0, 1, ... below a size, in f64.
Expression positions(const Expression& size) {
  GraphWriter& w = size.writer();
  const std::string count = size.to(DType::i64).name();
  const std::string range = w.node("Range", {w.integer(0), count, w.integer(1)});
  return Expression(w, DType::i64, range).to(DType::f64);
}

/// The outputs whose sources are read, [computed]: beyond the image, the outermost.
Expression read_outputs(const ResizedAxis& axis) {
  const Expression outputs = computed_outputs(axis);
  return max(min(outputs, axis.outputs - 1), outputs.number(0));
}

/// A matrix in f32 of integers as two: 256 high + low.
struct SplitWeights {
  Expression high, low;
};

enum class Side { left, right };  ///< where the matrix stands in its product with an image

/// The order of operations is Pillow's: a pixel at the very edge of a filter falls to the same
/// side. A program without f64 would lose digits in the difference of two positions; it gets the
/// quotient of two integers instead.
Distances distances(const ResizedAxis& axis, const Expression& output, const Expression& pixel,
                    const Expression& center, const Expression& stretch) {
  constexpr double kMostRounding = 1e-9;  // of f64
  const Expression parts = (pixel * 2 + 1) * axis.outputs - (output * 2 + 1) * axis.source;
  const Expression unit = max(axis.source, axis.outputs) * 2;
  const Expression exact = parts / unit;
  const Expression x = (pixel - center + 0.5) * (stretch.number(1) / stretch);
  return {pixel, center, stretch, where(exact.number(kMostRounding) > abs(x - exact), x, exact),
          parts, unit};
}

/// The quotients of values and their sum as integers, in units of 1 / kWeight: half of the digits,
/// and the others from what is left then.
Expression normalized(const FilterValues& values, std::int64_t axis) {
  constexpr double half = 1 << 11;
  const std::string along = values.high.writer().integers({axis});
  const Expression high = values.high.then("ReduceSum", {along});
  const Expression low = values.low.then("ReduceSum", {along});
  const Expression first = floor(values.high / high * half + 0.5);
  const Expression left = (values.high * half - first * high) + (values.low * half - first * low);
  const Expression second = left / (high + low) * half;
  const Expression is_negative = step(second.number(0), first * half + second);
  return first * half + where(is_negative > 0, ceil(second - 0.5), floor(second + 0.5));
}

/// [computed, source] on the left, [source, computed] on the right.
SplitWeights weights_of(const ResizedAxis& axis, Filter filter, Side side) {
  const std::int64_t along = side == Side::left ? 1 : 0;  // the axis of the source
  const Expression scale = axis.source / axis.outputs;
  const Expression stretch = max(scale, scale.number(1));
  const Expression output = read_outputs(axis).with_axes({along});
  const Expression pixel = positions(axis.source).with_axes({1 - along});
  const Expression center = (output + 0.5) * scale;
  const Distances from_center = distances(axis, output, pixel, center, stretch);
  const Expression rounded = normalized(kernel_of(filter)(from_center), along);
  const Expression high = floor((rounded + kPart / 2) / kPart);
  return {high.to(DType::f32), (rounded - high * kPart).to(DType::f32)};
}

Expression product(const Expression& levels, const Expression& weights, Side side) {
  return side == Side::left ? weights.then("MatMul", {levels.name()})
                            : levels.then("MatMul", {weights.name()});
}

/// One axis: floor(sum / 2^22 + 1/2), clipped. The low parts carry into the high ones first.
Expression resized(const Expression& levels, const SplitWeights& weights, Side side) {
  constexpr double rest = kWeight / kPart;  // 2^14
  const Expression carry = floor(product(levels, weights.low, side) / kPart);
  const Expression sum = product(levels, weights.high, side) + carry + rest / 2;
  return max(min(floor(sum / rest), sum.number(255)), sum.number(0));
}

Dimension dimension(const ResizedAxis& axis, const char* name) {
  if (axis.computed == 0) return name;
  return axis.computed;
}

/// Both axes, in the order that leaves fewer pixels between them: vertically first if the height
/// shrinks by more than twice what the width does.
Expression resize_both(const Expression& levels, const ResizedAxis& rows,
                       const ResizedAxis& columns, Filter filter) {
  GraphWriter& w = levels.writer();
  const SplitWeights down = weights_of(rows, filter, Side::left);
  const SplitWeights across = weights_of(columns, filter, Side::right);
  const auto branch = [&](bool vertical_first) {
    const ValueInfoProto output{"",
                                ElementType::f32,
                                {std::string("batch"), std::int64_t{3}, dimension(rows, "rows"),
                                 dimension(columns, "columns")}};
    return w.branch(output, [&] {
      if (vertical_first) {
        return resized(resized(levels, down, Side::left), across, Side::right).name();
      }
      return resized(resized(levels, across, Side::right), down, Side::left).name();
    });
  };
  const Expression lost = rows.source - rows.outputs;
  const Expression lost_width = columns.source - columns.outputs;
  const Expression is_vertical_first = lost > max(lost_width * 2, lost.number(0));
  return {w, DType::f32,
          w.node("If", {is_vertical_first.name()},
                 {{"then_branch", branch(true)}, {"else_branch", branch(false)}})};
}

/// The source of each output along an axis, i64 [computed]. Pillow adds up steps instead of
/// multiplying; the last bit of a position can decide which pixel is nearest.
Expression nearest(const ResizedAxis& axis) {
  GraphWriter& w = axis.source.writer();
  const Expression scale = axis.source / axis.outputs;
  const Expression is_first = step(axis.source.number(0.5), positions(axis.outputs));
  const Expression steps = scale * (is_first.number(1) - is_first * 0.5);
  const Expression at = steps.then("CumSum", {w.integer(0)});
  const Expression source = max(min(floor(at), axis.source - 1), at.number(0));
  const std::string chosen = read_outputs(axis).to(DType::i64).name();
  return source.then("Gather", {chosen}, {{"axis", std::int64_t{0}}}).to(DType::i64);
}

}  // namespace

Expression computed_outputs(const ResizedAxis& axis) {
  if (axis.computed == 0) return positions(axis.outputs) + axis.first;
  GraphWriter& w = axis.first.writer();
  const Tensor from_zero = arange(axis.computed).to(DType::f64);
  return Expression(w, DType::f64, w.constant("image/outputs", from_zero)) + axis.first;
}

Expression resize(const Expression& levels, const ResizedAxis& rows, const ResizedAxis& columns,
                  Filter filter) {
  if (filter == Filter::nearest) {
    const Expression read =
        levels.then("Gather", {nearest(rows).name()}, {{"axis", std::int64_t{2}}});
    return read.then("Gather", {nearest(columns).name()}, {{"axis", std::int64_t{3}}});
  }
  return resize_both(levels, rows, columns, filter);
}

}  // namespace fovea::onnx
