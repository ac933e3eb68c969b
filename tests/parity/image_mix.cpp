// Golden cases of mixup, cutmix and random erasing with given draws.
#include <cmath>

#include "data/augment/erase.h"
#include "data/augment/mixup.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "ops/view.h"
#include "tests/parity/image_case.h"

namespace fovea::golden {
namespace {

/// Reads one lambda for all samples, or one per sample.
std::vector<MixDraw> read_lambdas(ImageCase& c) {
  if (c.json("lam").is_number()) return {{.lambda = c.number("lam", 0, 1)}};
  std::vector<MixDraw> draws;
  for (const double lambda : c.numbers("lam")) draws.push_back({.lambda = lambda});
  return draws;
}

MixOptions read_options(ImageCase& c) {
  MixOptions options;
  options.smoothing = c.number("smoothing", 0, 1);
  options.classes = c.integer("num_classes", 1);
  return options;
}

void check_mode(ImageCase& c, std::size_t draws) {
  const std::string mode = c.text("mode");
  check(mode == "batch" || mode == "pair" || mode == "elem", "case ", c.name(), ": mode: got ",
        mode, ", expected batch, pair or elem");
  check((mode == "batch") == (draws == 1), "case ", c.name(), ": mode ", mode, " with ", draws,
        " draws");
}

void compare_mixed(ImageCase& c, const std::vector<MixDraw>& draws) {
  check_mode(c, draws.size());
  c.compare("output", mix_images(c.input(), draws));
  c.compare("soft_target", mix_targets(c.tensor("labels"), draws, read_options(c)));
}

PixelBox to_box(const std::vector<double>& yl_yh_xl_xh) {
  const auto at = [&](std::size_t i) { return static_cast<std::int64_t>(yl_yh_xl_xh[i]); };
  return {at(0), at(1), at(2), at(3)};
}

/// Checks that the box and the corrected lambda follow from the drawn lambda and centre.
void check_cutmix(ImageCase& c) {
  const Tensor images = c.input();
  check(images.rank() == 4, "case ", c.name(), ": expected an input [B, C, H, W]");
  const MixDraw draw = cutmix_draw(c.number("lam_drawn", 0, 1), c.integer("center_y", 0),
                                   c.integer("center_x", 0), images.size(2), images.size(3));
  const PixelBox& box = draw.box;
  const std::pair<const char*, std::int64_t> edges[] = {
      {"yl", box.top}, {"yh", box.bottom}, {"xl", box.left}, {"xh", box.right}};
  for (const auto& edge : edges)
    c.compare_number(edge.first, static_cast<double>(edge.second), c.number(edge.first));
  c.compare_number("lam", draw.lambda, c.number("lam", 0, 1), 1e-12);
  compare_mixed(c, {draw});
}

void check_mixup_cutmix(ImageCase& c) {
  std::vector<MixDraw> draws = read_lambdas(c);
  const nlohmann::json& boxes = c.json("boxes_yl_yh_xl_xh");
  check(boxes.is_object(), "case ", c.name(), ": boxes: expected an object");
  const Tensor images = c.input();
  for (const auto& entry : boxes.items()) {
    const nlohmann::json& list = entry.value();
    const std::int64_t sample = parse_integer(entry.key()).value_or(-1);
    bool ok = sample >= 0 && sample < std::ssize(draws) && list.is_array() && list.size() == 4;
    for (std::size_t i = 0; ok && i < 4; ++i)
      ok = list[i].is_number_unsigned() && list[i] <= images.size(i < 2 ? 2 : 3);
    check(ok, "case ", c.name(), ": boxes: got ", entry.key(), ": ", json_text(list),
          ", expected a sample and its rows and columns");
    MixDraw& draw = draws[static_cast<std::size_t>(sample)];
    draw.is_cutmix = true;
    draw.box = to_box(list.get<std::vector<double>>());
  }
  compare_mixed(c, draws);
}

void check_erased_size(ImageCase& c) {
  const double area = c.number("area_fraction", 0, 1) *
                      static_cast<double>(c.integer("img_height", 1) * c.integer("img_width", 1));
  const ImageSize ours = erased_size(area, c.number("aspect", 1e-6, 1e6));
  c.compare_number("height", static_cast<double>(ours.height), c.number("height"));
  c.compare_number("width", static_cast<double>(ours.width), c.number("width"));
}

/// Image `image` of input_float after erasing.
void check_erasing(ImageCase& c) {
  const Tensor images = c.tensor("input_float");
  const std::int64_t index = c.integer("image", 0);
  check(images.rank() == 4 && index < images.size(0) && images.dtype() == DType::f32, "case ",
        c.name(), ": image: got ", index, " of ", images.shape());
  Tensor image = ops::select(images, 0, index).clone();
  erase_as_told(c, image);
  c.compare("output", image);
}

}  // namespace

void erase_as_told(ImageCase& c, Tensor& image) {
  check(image.size(0) == Image::kChannels, "erasing: got ", image.shape(), ", expected [3, H, W]");
  const std::string mode = c.text("mode");
  const std::int64_t top = c.integer("top", 0), left = c.integer("left", 0);
  const PixelBox box{top, top + c.integer("height", 0), left, left + c.integer("width", 0)};
  std::vector<float> fill(3);
  if (mode == "rand") {
    const std::vector<double> color = c.numbers("colour", 3);
    fill.assign(color.begin(), color.end());
  } else if (mode == "pixel") {
    const std::vector<double> values = c.tensor(c.text("values")).to_vector();
    fill.assign(values.begin(), values.end());
  } else {
    check(mode == "const", "erasing: mode: got ", mode, ", expected const, rand or pixel");
  }
  erase_box(image.data<float>(), {image.size(1), image.size(2)}, box, fill);
}

bool check_mixing(ImageCase& c) {
  if (c.op() == "mixup") return compare_mixed(c, read_lambdas(c)), true;
  if (c.op() == "cutmix") return check_cutmix(c), true;
  if (c.op() == "mixup_cutmix") return check_mixup_cutmix(c), true;
  if (c.op() == "random_erasing") return check_erasing(c), true;
  if (c.op() == "random_erasing_size") return check_erased_size(c), true;
  if (c.op() == "mixup_u8") {
    c.compare("output", mix_images(c.input(), read_lambdas(c)));
  } else if (c.op() == "target") {
    c.compare("soft_target", mix_targets(c.tensor("labels"), read_lambdas(c), read_options(c)));
  } else {
    return false;
  }
  return true;
}

}  // namespace fovea::golden
