// data/geometry/evaluation_transform.cpp in the terms of a graph.
#include "export/image_input.h"

#include <algorithm>
#include <array>

#include "data/geometry/detr_resize.h"
#include "engine/base/error.h"
#include "export/image_resize.h"

namespace fovea::onnx {
namespace {

/// Height and width in f64.
struct Sizes {
  Expression height, width;
};

Expression side_of_image(GraphWriter& w, const std::string& image, std::int64_t axis) {
  const std::string side = w.node("Gather", {w.node("Shape", {image}), w.integer(axis)});
  return Expression(w, DType::i64, side).to(DType::f64);
}

/// The shorter side becomes `side`, the longer one in proportion, rounded down.
Sizes shorter_side(const Sizes& image, double side) {
  const Expression shorter = min(image.height, image.width);
  // In integers, which all programs divide alike.
  const auto scaled = [&](const Expression& whole) {
    return ((whole * side).to(DType::i64) / shorter.to(DType::i64)).to(DType::f64);
  };
  return {scaled(image.height), scaled(image.width)};
}

/// The ratio is kept, and the image just covers the size or, with `fits`, fits inside.
Sizes keeping_ratio(const Sizes& image, ImageSize size, bool fits) {
  const Expression down = image.height / static_cast<double>(size.height);
  const Expression across = image.width / static_cast<double>(size.width);
  const Expression ratio = fits ? max(down, across) : min(down, across);
  const auto scaled = [&](const Expression& whole) {
    return max(round(whole / ratio), ratio.number(1));
  };
  return {scaled(image.height), scaled(image.width)};
}

Sizes covering(const Sizes& image, ImageSize size) {
  return size.height == size.width ? shorter_side(image, static_cast<double>(size.height))
                                   : keeping_ratio(image, size, /*fits=*/false);
}

Sizes constant_sizes(const Sizes& image, ImageSize size) {
  return {image.height.number(static_cast<double>(size.height)),
          image.width.number(static_cast<double>(size.width))};
}

/// DETR's rule: the shorter side becomes `side`, or less so that the longer one stays at most
/// `longest`.
Sizes within_sides(const Sizes& image, double side, double longest) {
  const Expression least = min(image.height, image.width), most = max(image.height, image.width);
  const Expression limited = max(round(least.number(longest) * least / most), least.number(1));
  const Expression is_long = most / least * side > longest;
  const Expression shorter = where(is_long, limited, least.number(side));
  const Expression other = floor(shorter * most / least);
  const Expression is_tall = image.height > image.width;
  return {where(is_tall, other, shorter), where(is_tall, shorter, other)};
}

/// The size to which the image is resized before the crop.
Sizes resized_size(const Sizes& image, const EvaluationTransform& t) {
  const ImageSize scale = evaluation_scale(t);
  switch (t.crop.mode) {
    case CropMode::squash:
      return constant_sizes(image, scale);
    case CropMode::border:
      return keeping_ratio(image, scale, /*fits=*/true);
    case CropMode::center:
      return covering(image, scale);
    case CropMode::detr: {
      const std::int64_t side = std::min(t.size.height, t.size.width);
      return within_sides(image, static_cast<double>(side),
                          static_cast<double>(longest_detr_side(side)));
    }
    default: {
      const Sizes cropped = covering(image, scale), stretched = constant_sizes(image, t.size);
      const Expression is_large = max(image.height, image.width) > static_cast<double>(kSmallImage);
      return {where(is_large, cropped.height, stretched.height),
              where(is_large, cropped.width, stretched.width)};
    }
  }
}

/// Where the central part begins: half of the difference, rounded to even, or up where the part is
/// larger.
Expression centered(const Expression& whole, std::int64_t part) {
  const Expression half = (whole - static_cast<double>(part)) * 0.5;
  return where(half.number(0) > half, ceil(half), round(half));
}

/// 1 at the computed outputs that are inside the resized image, otherwise 0; f32 [computed].
Expression is_inside(const ResizedAxis& axis) {
  const Expression at = computed_outputs(axis);
  return (step(at, at.number(-0.5)) * step(axis.outputs - 0.5, at)).to(DType::f32);
}

/// A constant of each channel, [3, 1, 1].
template <class T>
Expression of_channels(const Expression& x, const char* name, const std::array<T, 3>& values) {
  const Tensor constant =
      from_values({3, 1, 1}, {static_cast<double>(values[0]), static_cast<double>(values[1]),
                              static_cast<double>(values[2])});
  return {x.writer(), DType::f32, x.writer().constant(name, constant)};
}

/// The mean colour where the crop reaches beyond the image.
Expression filled(const Expression& levels, const ResizedAxis& rows, const ResizedAxis& columns,
                  const Normalization& normalization) {
  const Expression inside = is_inside(rows).with_axes({1}) * is_inside(columns);  // [H, W]
  const Expression fill = of_channels(levels, "image/fill", mean_color(normalization));
  return levels * inside + (inside.number(1) - inside) * fill;
}

Expression normalised(const Expression& levels, const Normalization& n) {
  const Expression centred = levels / 255 - of_channels(levels, "image/mean", n.mean);
  return centred / of_channels(levels, "image/std", n.deviation);
}

/// Of the resized image, the part that the model sees: its middle or, for models of any size, all.
ResizedAxis axis_of(const Expression& source, const Expression& outputs, std::int64_t size,
                    CropMode mode) {
  if (mode == CropMode::detr) return {source, outputs, outputs.number(0), 0};
  return {source, outputs, centered(outputs, size), size};
}

Expression resized_and_cropped(const Expression& levels, const EvaluationTransform& t) {
  GraphWriter& w = levels.writer();
  const Sizes image{side_of_image(w, "image", 1), side_of_image(w, "image", 2)};
  const Sizes whole = resized_size(image, t);
  const ResizedAxis rows = axis_of(image.height, whole.height, t.size.height, t.crop.mode);
  const ResizedAxis columns = axis_of(image.width, whole.width, t.size.width, t.crop.mode);
  const Expression resized = resize(levels, rows, columns, t.crop.filter);
  if (t.crop.mode != CropMode::border) return resized;
  return filled(resized, rows, columns, t.normalization);
}

/// Whether prepared images have different sizes.
bool keeps_any_size(CropMode mode) { return mode == CropMode::keep || mode == CropMode::detr; }

}  // namespace

void require_preparation(const EvaluationTransform& t, bool takes_any_size) {
  const CropMode mode = t.crop.mode;
  check(mode != CropMode::adm && (takes_any_size || !keeps_any_size(mode)),
        "export: images prepared with crop-mode ", name_of(mode), " cannot be prepared in the file",
        keeps_any_size(mode) ? ", since the model takes images of one size" : "",
        "; --input tensor writes a file for prepared ones");
}

std::string prepare_images(GraphWriter& writer, const EvaluationTransform& t) {
  writer.input(
      {"image",
       ElementType::u8,
       {std::string("batch"), std::string("height"), std::string("width"), std::int64_t{3}},
       "RGB from 0 to 255"});
  writer.enter("image");
  const std::string planes =
      writer.node("Transpose", {"image"}, {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}});
  const Expression levels = Expression(writer, DType::u8, planes).to(DType::f32);
  if (t.crop.mode == CropMode::keep) return normalised(levels, t.normalization).name();
  return normalised(resized_and_cropped(levels, t), t.normalization).name();
}

}  // namespace fovea::onnx
