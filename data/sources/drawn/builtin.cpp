// Draws the built-in pictures.
#include "data/sources/drawn/builtin.h"

#include "data/sources/drawn/builtin_drawing.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

using drawing::Color;

constexpr std::uint64_t kStream = 0x6275696C74696E;  // "builtin"
constexpr std::int64_t kClasses = 10;

Image draw(std::int64_t label, Rng& rng) {
  const drawing::ClassForm form(label, rng);
  const Color back = drawing::random_color(rng);
  const Color front = drawing::contrasting_color({back}, rng);
  return drawing::paint(
      [&](double x, double y) { return drawing::blend(back, front, form.cover(x, y)); }, rng);
}

}  // namespace

Builtin::Builtin(Split split, BuiltinOptions options)
    : split_(split),
      seed_(options.seed),
      size_(split == Split::train ? options.train_size : options.test_size) {
  check(size_ >= 1, "builtin: got a size of ", size_, ", expected 1 or more");
}

const std::vector<std::string>& Builtin::class_names() const { return drawing::ClassForm::names(); }

Sample Builtin::get(std::int64_t index) const {
  check_index(index, "builtin");
  const std::int64_t label = index % kClasses;
  Rng rng(seed_, stream_of(kStream, static_cast<std::uint64_t>(split_), index));
  return {draw(label, rng), label, {}};
}

void Builtin::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name.append(std::to_string(seed_)).append("/").append(std::to_string(index));
  entry.label = label(index);
}

}  // namespace fovea
