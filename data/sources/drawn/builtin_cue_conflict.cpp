// Silhouettes of built-in shapes, filled with built-in patterns.
#include <algorithm>
#include <array>
#include <utility>

#include "data/sources/drawn/builtin.h"
#include "data/sources/drawn/builtin_drawing.h"
#include "data/sources/files/cue_conflict.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using drawing::ClassForm;
using drawing::Color;

constexpr std::uint64_t kCueStream = 0x63756573;  // "cues"
constexpr std::int64_t kCopies = 50;              // pictures per shape and pattern
constexpr std::int64_t kPairs = ClassForm::kShapes * ClassForm::kPatterns;  // pairs take turns

/// Maps each class of the built-in set to a category.
using Labels = std::array<std::int64_t, ClassForm::kShapes + ClassForm::kPatterns>;

std::int64_t shape_of(std::int64_t index) { return index % ClassForm::kShapes; }
std::int64_t pattern_of(std::int64_t index) {
  return ClassForm::kShapes + index / ClassForm::kShapes % ClassForm::kPatterns;
}

Image draw_cues(std::int64_t index, Rng& rng) {
  const ClassForm shape(shape_of(index), rng);
  const double stripe = rng.uniform(2.5, 3.5);  // narrow: even a star shows several stripes
  const ClassForm pattern(pattern_of(index), stripe, rng);
  const Color ground = drawing::random_color(rng);
  const Color first = drawing::contrasting_color({ground}, rng);
  const Color second = drawing::contrasting_color({ground, first}, rng);
  const auto color = [&](double x, double y) {
    const Color filling = drawing::blend(first, second, pattern.cover(x, y));
    return drawing::blend(ground, filling, shape.cover(x, y));
  };
  return drawing::paint(color, rng);
}

class DrawnCues : public Dataset {
 public:
  DrawnCues(std::vector<std::string> categories, Labels labels, std::uint64_t seed)
      : categories_(std::move(categories)), labels_(labels), seed_(seed) {}

  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return kPairs * kCopies; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return categories_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    check_index(index, "drawn cue conflict");
    Rng rng(seed_, stream_of(kCueStream, 0, index));
    return {draw_cues(index, rng), label(index)};
  }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(shape_of(index))];
  }
  [[nodiscard]] ImageSize image_size() const override { return {drawing::kSide, drawing::kSide}; }

 private:
  std::vector<std::string> categories_;
  Labels labels_;
  std::uint64_t seed_;
};

}  // namespace

CueConflict draw_cue_conflict(const std::vector<std::string>& categories, std::uint64_t seed) {
  const std::vector<std::string>& classes = Builtin(Split::test).class_names();
  Labels labels{};
  for (std::size_t k = 0; k < labels.size(); ++k) {
    const auto found = std::find(categories.begin(), categories.end(), classes[k]);
    check(found != categories.end(), "drawn cue conflict: the pictures show ", join(classes, ", "),
          "; got the category \"", classes[k],
          "\", expected a model trained on the built-in data set");
    labels[k] = found - categories.begin();
  }
  CueConflict cues{std::make_shared<DrawnCues>(categories, labels, seed), {}};
  for (std::int64_t i = 0; i < cues.images->size(); ++i)
    cues.textures.push_back(labels[static_cast<std::size_t>(pattern_of(i))]);
  return cues;
}

}  // namespace fovea
