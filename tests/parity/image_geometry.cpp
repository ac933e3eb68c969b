// Golden cases of resizing and cropping.
#include "data/geometry/evaluation_transform.h"
#include "engine/base/error.h"
#include "engine/base/names.h"
#include "tests/parity/image_case.h"

namespace fovea::golden {
namespace {

ImageSize size_of(ImageCase& c) {
  return {c.integer("height", 1, 20'000), c.integer("width", 1, 20'000)};
}

Image flipped(ImageCase& c, Image image) {
  return c.flag("hflip") ? flip_horizontal(std::move(image)) : image;
}

void check_resize(ImageCase& c) { c.compare(resize(c.image(), size_of(c), c.filter())); }

void check_resize_box(ImageCase& c) {
  const std::vector<double> box = c.numbers("box_xyxy", 4);
  c.compare(resize(c.image(), size_of(c), c.filter(), {box[1], box[0], box[3], box[2]}));
}

void check_resized_crop(ImageCase& c) {
  const ImageSize part{c.integer("box_height", 1), c.integer("box_width", 1)};
  const Image cut = crop(c.image(), c.integer("top"), c.integer("left"), part);
  c.compare(flipped(c, resize(cut, size_of(c), c.filter())));
}

/// Takes the crop's size from the output, because the arguments do not contain it.
void check_pad_crop(ImageCase& c) {
  const std::int64_t pad = c.integer("pad", 0, 10'000);
  const std::int64_t top = c.integer("top", 0) - pad, left = c.integer("left", 0) - pad;
  const Tensor expected = c.expected();
  check(expected.rank() == 3, "case ", c.name(), ": expected an output of three axes");
  const PixelBox box{top, top + expected.size(0), left, left + expected.size(1)};
  const Padding padding = parse_name<Padding>("padding_mode", c.text("padding_mode"));
  c.compare(flipped(c, crop(c.image(), box, padding, c.has("fill") ? c.color("fill") : Color8{})));
}

/// A mean that equals `fill` as an 8-bit colour.
Normalization with_mean_color(const Color8& fill) {
  Normalization normalization = kImageNetNormalization;
  for (std::size_t c = 0; c < fill.size(); ++c)
    normalization.mean[c] = static_cast<float>(fill[c]) / 255;
  return normalization;
}

void check_eval_transform(ImageCase& c) {
  EvaluationTransform options;
  options.size = c.size("img_size");
  options.crop.crop_pct = c.number("crop_pct", 1e-3, 1);
  options.crop.mode = parse_name<CropMode>("crop_mode", c.text("crop_mode"));
  options.crop.filter = c.filter();
  if (c.has("fill")) options.normalization = with_mean_color(c.color("fill"));
  if (c.has("scale_size")) {
    const ImageSize theirs = c.size("scale_size"), ours = evaluation_scale(options);
    c.compare_number("scale_size height", static_cast<double>(ours.height),
                     static_cast<double>(theirs.height));
    c.compare_number("scale_size width", static_cast<double>(ours.width),
                     static_cast<double>(theirs.width));
  }
  c.compare(prepare_for_evaluation(c.image(), options));
}

}  // namespace

bool check_geometry(ImageCase& c) {
  if (c.op() == "resize") return check_resize(c), true;
  if (c.op() == "resize_box") return check_resize_box(c), true;
  if (c.op() == "resized_crop") return check_resized_crop(c), true;
  if (c.op() == "pad_crop") return check_pad_crop(c), true;
  if (c.op() == "eval_transform") return check_eval_transform(c), true;
  return false;
}

}  // namespace fovea::golden
