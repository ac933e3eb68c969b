// Strict reading of arguments, conversion of images and tensors, and comparisons.
#include "tests/parity/image_case.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/names.h"

namespace fovea::golden {
namespace {

using Json = nlohmann::json;

/// Largest absolute difference; NaN if any is NaN.
double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(largest)) break;
  }
  return largest;
}

}  // namespace

ImageCase::ImageCase(Case& c, std::string name, const Json& arguments)
    : case_(c), name_(std::move(name)), arguments_(arguments) {
  check(arguments_.is_object(), "case ", name_, ": expected an object of arguments");
  if (has("op")) op_ = text("op");
}

void ImageCase::refuse(const char* key, const Json& got, const std::string& expected) const {
  fail("case ", name_, ": ", key, ": got ", json_text(got), ", expected ", expected);
}

const Json& ImageCase::at(const char* key) {
  known_.emplace_back(key);
  const auto found = arguments_.find(key);
  check(found != arguments_.end(), "case ", name_, ": argument ", key, " is missing");
  return *found;
}

bool ImageCase::has(const char* key) {
  known_.emplace_back(key);
  return arguments_.contains(key) && !arguments_[key].is_null();
}

double ImageCase::number(const char* key, double low, double high) {
  const Json& value = at(key);
  const bool ok = value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
  if (!ok)
    refuse(key, value, "a number from " + json_text(Json(low)) + " to " + json_text(Json(high)));
  return value.get<double>();
}

std::int64_t ImageCase::integer(const char* key, std::int64_t low, std::int64_t high) {
  const double value = number(key, static_cast<double>(low), static_cast<double>(high));
  if (value != std::floor(value)) refuse(key, at(key), "an integer");
  return static_cast<std::int64_t>(value);
}

bool ImageCase::flag(const char* key) {
  const Json& value = at(key);
  if (!value.is_boolean()) refuse(key, value, "true or false");
  return value.get<bool>();
}

std::string ImageCase::text(const char* key) {
  const Json& value = at(key);
  if (!value.is_string()) refuse(key, value, "a string");
  return value.get<std::string>();
}

std::vector<double> ImageCase::numbers(const char* key, std::size_t count) {
  const Json& list = at(key);
  const bool ok = list.is_array() && (count == 0 || list.size() == count) &&
                  std::all_of(list.begin(), list.end(), [](const Json& v) {
                    return v.is_number() && std::abs(v.get<double>()) <= 1e9;
                  });
  if (!ok) refuse(key, list, "a list of numbers");
  return list.get<std::vector<double>>();
}

const Json& ImageCase::json(const char* key) { return at(key); }

ImageCase ImageCase::nested(const char* key) { return {case_, name_, at(key)}; }

Filter ImageCase::filter(const char* key) { return parse_name<Filter>(key, text(key)); }

Color8 ImageCase::color(const char* key) {
  const std::vector<double> values =
      at(key).is_number() ? std::vector<double>(3, number(key)) : numbers(key, 3);
  Color8 color{};
  for (std::size_t c = 0; c < color.size(); ++c) {
    const bool ok = values[c] >= 0 && values[c] <= 255 && values[c] == std::floor(values[c]);
    if (!ok) refuse(key, at(key), "levels of 0 to 255");
    color[c] = static_cast<std::uint8_t>(values[c]);
  }
  return color;
}

Normalization ImageCase::normalization() {
  const std::vector<double> mean = numbers("mean", 3), deviation = numbers("std", 3);
  Normalization result{};
  for (std::size_t c = 0; c < 3; ++c) {
    result.mean[c] = static_cast<float>(mean[c]);
    result.deviation[c] = static_cast<float>(deviation[c]);
  }
  return result;
}

ImageSize ImageCase::size(const char* key) {
  constexpr double kLargest = 20'000;
  const Json& value = at(key);
  const std::vector<double> sides =
      value.is_number() ? std::vector<double>(2, number(key)) : numbers(key, 2);
  for (const double side : sides)
    if (!(side >= 1 && side <= kLargest) || side != std::floor(side)) refuse(key, value, "a size");
  return {static_cast<std::int64_t>(sides[0]), static_cast<std::int64_t>(sides[1])};
}

void ImageCase::finish() const {
  for (const auto& entry : arguments_.items()) {
    const bool known = std::find(known_.begin(), known_.end(), entry.key()) != known_.end();
    check(known, "case ", name_, ": argument ", entry.key(), " is unknown",
          did_you_mean(entry.key(), known_));
  }
}

Tensor ImageCase::input() {
  return case_.take(has("input") ? "input/" + text("input") : std::string("input"));
}

Image ImageCase::image() { return to_image(input(), "the input of case " + name_); }

void ImageCase::compare(const Image& ours) { compare("output", to_tensor(ours)); }

void ImageCase::compare(const std::string& kind, const Tensor& ours) {
  const std::string name = kind + "/" + name_;
  const Tensor theirs = case_.take(name);
  check(theirs.dtype() == ours.dtype(), name, ": the file has ", theirs.dtype(), ", ours is ",
        ours.dtype());
  check(theirs.shape() == ours.shape(), name, ": the file has shape ", theirs.shape(), ", ours is ",
        ours.shape());
  const double bound = ours.dtype() == DType::u8 ? 0 : 1e-6;
  case_.outputs[name] = ours;
  case_.results.push_back({name, largest_difference(ours, theirs), bound});
}

void ImageCase::compare_number(const std::string& what, double ours, double theirs, double bound) {
  case_.results.push_back({name_ + "/" + what, std::abs(ours - theirs), bound});
}

Image to_image(const Tensor& pixels, const std::string& name) {
  const bool ok = pixels.rank() == 3 && pixels.size(2) == Image::kChannels &&
                  pixels.dtype() == DType::u8 && pixels.size(0) >= 1 && pixels.size(1) >= 1;
  check(ok, name, ": got ", pixels.dtype(), " ", pixels.shape(), ", expected u8 [H, W, 3]");
  Image image(pixels.size(0), pixels.size(1));
  std::copy_n(pixels.data<std::uint8_t>(), image.pixels.size(), image.pixels.begin());
  return image;
}

Tensor to_tensor(const Image& image) {
  const Tensor pixels = empty({image.height, image.width, Image::kChannels}, {DType::u8, {}});
  std::copy(image.pixels.begin(), image.pixels.end(), pixels.data<std::uint8_t>());
  return pixels;
}

Tensor to_normalized(const Image& image, const Normalization& normalization) {
  Tensor values = empty({Image::kChannels, image.height, image.width});
  normalize(image, normalization, values.data<float>());
  return values;
}

}  // namespace fovea::golden
