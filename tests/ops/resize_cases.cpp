// Rows of the gradient table for interpolation.
#include "ops/resize.h"

#include "ops/arithmetic.h"
#include "tests/support/op_case.h"

namespace fovea::tests {
namespace {

using X = const std::vector<Tensor>&;
using ops::ResizeMode;

TensorFn resized(std::int64_t height, std::int64_t width, ResizeMode mode, bool antialias) {
  return [=](X x) {
    return ops::resize(x[0], {height, width}, {.mode = mode, .antialias = antialias});
  };
}

}  // namespace

OpCases resize_cases() {
  OpCases all;
  for (const ResizeMode mode : {ResizeMode::bilinear, ResizeMode::bicubic}) {
    for (const bool antialias : {false, true}) {
      const std::string what = std::string(mode == ResizeMode::bilinear ? "bilinear" : "bicubic") +
                               (antialias ? ", antialias" : "");
      all.push_back({"resize", what + ", larger", {{1, 2, 3, 5}}, resized(7, 11, mode, antialias)});
      all.push_back(
          {"resize", what + ", smaller", {{2, 1, 11, 7}}, resized(3, 2, mode, antialias)});
      all.push_back({"resize", what + ", both", {{1, 1, 3, 13}}, resized(7, 5, mode, antialias)});
      all.push_back(
          {"resize", what + ", one sample", {{1, 2, 1, 1}}, resized(3, 2, mode, antialias)});
    }
  }
  const auto upsampled = [](std::int64_t factor) -> TensorFn {
    return [factor](X x) { return ops::upsample_nearest(x[0], factor); };
  };
  all.push_back({"upsample_nearest", "twice", {{2, 3, 3, 5}}, upsampled(2)});
  all.push_back({"upsample_nearest", "three times", {{1, 2, 2, 3}}, upsampled(3)});
  all.push_back({"upsample_nearest", "once", {{1, 2, 2, 3}}, upsampled(1)});
  all.push_back({"upsample_nearest", "many rows", {{3, 5, 17, 9}}, upsampled(2)});
  all.push_back({"upsample_nearest", "no images", {{0, 2, 3, 5}}, upsampled(2)});
  all.push_back({"upsample_nearest", "repeated input", {{1, 2, 3, 3}}, [](X x) {
                   return ops::upsample_nearest(x[0], 2) * ops::upsample_nearest(x[0], 2);
                 }});
  all.push_back({"resize", "no images", {{0, 2, 3, 5}}, resized(7, 2, ResizeMode::bicubic, false)});
  all.push_back({"resize", "position embedding with prefix", {{1, 2 + 6, 3}}, [](X x) {
                   return ops::resample_pos_embed(x[0], 2, {2, 3}, {5, 4});
                 }});
  all.push_back({"resize", "position embedding, antialias", {{1, 15, 2}}, [](X x) {
                   return ops::resample_pos_embed(x[0], 0, {5, 3}, {2, 7}, {.antialias = true});
                 }});
  return all;
}

}  // namespace fovea::tests
