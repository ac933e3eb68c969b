// Where sizes come from.
#include "export/graph_sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/base/error.h"
#include "export/expression.h"

namespace fovea::onnx {
namespace {

/// A size that is `factor` times another one in both traces, or `divisor` times smaller.
struct Ratio {
  std::int64_t factor, divisor;
};

std::optional<Ratio> ratio_of(TracedSize size, TracedSize known) {
  const auto is_multiple = [](TracedSize of, TracedSize by) {
    return by.size > 0 && by.resized > 0 && of.size % by.size == 0 &&
           of.resized % by.resized == 0 && of.size / by.size == of.resized / by.resized;
  };
  if (is_multiple(size, known)) return Ratio{size.size / known.size, 1};
  if (size.size > 0 && is_multiple(known, size)) return Ratio{1, known.size / size.size};
  return {};
}

/// Whether both are one number everywhere, and the same.
bool is_filled(const std::vector<double>& one, const std::vector<double>& other) {
  const auto is_first = [&](double value) { return value == one.front(); };
  return std::all_of(one.begin(), one.end(), is_first) &&
         std::all_of(other.begin(), other.end(), is_first);
}

bool is_counting(const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<double>(i)) return false;
  }
  return true;
}

bool is_whole(double value) { return value == std::nearbyint(value); }

}  // namespace

TracedSize size_of(const TracedValue& value, int axis) {
  return {value.tensor.size(axis), value.resized.size(axis)};
}

void GraphSizes::add(const TracedValue& value, const std::string& name) {
  for (int axis = 0; axis < value.tensor.rank(); ++axis) {
    const TracedSize size = size_of(value, axis);
    const auto has_size = [&](const Known& known) { return known.size == size; };
    if (size.is_fixed() || std::any_of(known_.begin(), known_.end(), has_size)) continue;
    known_.push_back({size, name, axis});
  }
}

std::string GraphSizes::value_of(const Known& known) {
  if (known.axis < 0) return known.value;
  const auto axis = static_cast<std::int64_t>(known.axis);
  return writer_.node("Shape", {known.value}, {{"start", axis}, {"end", axis + 1}});
}

std::string GraphSizes::value_of(TracedSize size) {
  if (size.is_fixed()) return writer_.integers({size.size});
  for (Known& known : known_) {
    if (known.size != size) continue;
    if (known.axis >= 0) known = {size, value_of(known), -1};
    return known.value;
  }
  const std::string value = derived(size);
  check(!value.empty(), "export: a size that is ", size.size, " for one image and ", size.resized,
        " for another is not found among those of the model's values");
  known_.push_back({size, value, -1});
  return value;
}

std::string GraphSizes::derived(TracedSize size) {
  for (const Known& known : known_) {
    const auto ratio = ratio_of(size, known.size);
    if (!ratio) continue;
    const Expression of(writer_, DType::i64, value_of(known));
    return (ratio->divisor > 1 ? of / static_cast<double>(ratio->divisor)
                               : of * static_cast<double>(ratio->factor))
        .name();
  }
  for (const Known& a : known_) {
    for (const Known& b : known_) {
      const TracedSize product{a.size.size * b.size.size, a.size.resized * b.size.resized};
      if (product == size) return writer_.node("Mul", {value_of(a), value_of(b)});
    }
  }
  for (const Known& known : known_) {
    const std::int64_t more = size.size - known.size.size;
    if (more != size.resized - known.size.resized) continue;
    return (Expression(writer_, DType::i64, value_of(known)) + static_cast<double>(more)).name();
  }
  return {};
}

std::string GraphSizes::list_of(const std::vector<TracedSize>& sizes) {
  std::vector<std::int64_t> numbers;
  for (const TracedSize size : sizes) numbers.push_back(size.size);
  const auto is_fixed = [](TracedSize size) { return size.is_fixed(); };
  if (std::all_of(sizes.begin(), sizes.end(), is_fixed)) return writer_.integers(numbers);
  std::vector<std::string> values;
  for (const TracedSize size : sizes) values.push_back(value_of(size));
  if (values.size() == 1) return values.front();
  return writer_.node("Concat", values, {{"axis", std::int64_t{0}}});
}

/// A number, a size or the reciprocal of one, as a list of one element.
std::string GraphSizes::element_of(double one, double other, DType type) {
  const auto size = [&](double a, double b) {
    const TracedSize whole{std::llround(a), std::llround(b)};
    return Expression(writer_, DType::i64, value_of(whole)).to(type);
  };
  if (is_whole(one) && is_whole(other)) return size(one, other).name();
  const Expression reciprocal = size(1 / one, 1 / other);
  return (reciprocal.number(1) / reciprocal).name();
}

std::string GraphSizes::constant(const TracedValue& value) {
  const auto one = value.tensor.to_vector(), other = value.resized.to_vector();
  const DType type = value.tensor.dtype();
  std::vector<TracedSize> shape;
  for (int axis = 0; axis < value.tensor.rank(); ++axis) shape.push_back(size_of(value, axis));
  if (is_filled(one, other)) {
    return writer_.node("Expand", {writer_.number(one.front(), type), list_of(shape)});
  }
  if (shape.size() == 1 && is_counting(one) && is_counting(other)) {
    const std::string count = writer_.node("Squeeze", {value_of(shape[0]), writer_.integers({0})});
    const std::string range =
        writer_.node("Range", {writer_.integer(0), count, writer_.integer(1)});
    return Expression(writer_, DType::i64, range).to(type).name();
  }
  constexpr std::size_t kFew = 4;
  check(one.size() == other.size() && one.size() <= kFew, "export: a constant of shape ",
        value.tensor.shape(), " depends on the image's size in a way that no graph expresses");
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < one.size(); ++i) {
    elements.push_back(element_of(one[i], other[i], type));
  }
  const std::string list = writer_.node("Concat", elements, {{"axis", std::int64_t{0}}});
  return writer_.node("Reshape", {list, list_of(shape)});
}

}  // namespace fovea::onnx
