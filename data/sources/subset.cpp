// Selects classes and images; the resulting data set also handles relabelling.
#include "data/sources/subset.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "data/loading/sampler.h"
#include "data/sources/boxes/detection_set.h"
#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/image_subset.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/names.h"
#include "engine/base/text.h"
#include "engine/base/unicode.h"
#include "engine/rng.h"

namespace fovea {
namespace {

/// "n01440764" for "tench (n01440764)".
std::string id_of(const std::string& name) {
  const std::size_t open = name.rfind(" (");
  if (open == std::string::npos || name.back() != ')') return name;
  return name.substr(open + 2, name.size() - open - 3);
}

std::optional<std::int64_t> find_name(const std::string& word,
                                      const std::vector<std::string>& names) {
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] == word || id_of(names[k]) == word) return static_cast<std::int64_t>(k);
  return std::nullopt;
}

std::int64_t find_class(const std::string& word, const std::vector<std::string>& names) {
  if (const auto found = find_name(word, names)) return *found;
  if (const auto number = parse_integer(word)) {
    check(*number >= 0 && *number < static_cast<std::int64_t>(names.size()), "--classes: got ",
          *number, ", expected 0 to ", names.size() - 1);
    return *number;
  }
  fail("--classes: the data set has no class \"", word, "\"", did_you_mean(word, names));
}

/// Some images of a data set, with new labels.
class Subset : public ImageSubset<Dataset> {
 public:
  struct Choice {
    std::vector<std::int64_t> images;  ///< new index -> old index, ascending
    std::vector<std::int64_t> labels;  ///< old label -> new label; -1: left out
    std::vector<std::string> names;    ///< names of the new labels
    std::string notice{};
  };
  Subset(std::shared_ptr<const Dataset> whole, Choice choice)
      : ImageSubset(std::move(whole), std::move(choice.images), std::move(choice.notice)),
        labels_(std::move(choice.labels)),
        names_(std::move(choice.names)) {}

  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    return relabelled(ImageSubset::get(index));
  }
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override {
    return relabelled(ImageSubset::get(index, choose, shrink_to));
  }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return labels_[whole().label(old_index(index))];
  }
  void list_entry(std::int64_t index, ListEntry& entry) const override {
    ImageSubset::list_entry(index, entry);
    if (entry.label >= 0) entry.label = labels_[entry.label];
  }
  [[nodiscard]] std::vector<std::int64_t> parts() const override;
  [[nodiscard]] const LatentInfo* latents() const override { return whole().latents(); }

 private:
  [[nodiscard]] Sample relabelled(Sample sample) const {
    sample.label = labels_[sample.label];
    return sample;
  }

  std::vector<std::int64_t> labels_;
  std::vector<std::string> names_;
};

/// The sizes of the parts, counting only the selected images.
std::vector<std::int64_t> Subset::parts() const {
  std::vector<std::int64_t> left;
  auto image = images().begin();
  std::int64_t end = 0;
  for (const std::int64_t part : whole().parts()) {
    end += part;
    const auto next = std::lower_bound(image, images().end(), end);
    left.push_back(next - image);
    image = next;
  }
  return left;
}

std::vector<std::vector<std::int64_t>> images_by_class(const Dataset& dataset) {
  std::vector<std::vector<std::int64_t>> by_class(static_cast<std::size_t>(dataset.classes()));
  for (std::int64_t i = 0; i < dataset.size(); ++i) by_class[dataset.label(i)].push_back(i);
  return by_class;
}

/// The number of images to keep of a class.
std::int64_t count_of_share(std::int64_t size, const SubsetOptions& options) {
  const double exact = options.fraction * static_cast<double>(size);
  if (options.rule == FractionRule::first) return static_cast<std::int64_t>(exact);
  const auto count = static_cast<std::int64_t>(std::ceil(exact - 1e-9));
  return std::max(count, std::min<std::int64_t>(size, 1));
}

/// The images of each class that the rule selects, in order.
std::vector<std::int64_t> share_of(const std::vector<std::vector<std::int64_t>>& by_class,
                                   const SubsetOptions& options,
                                   const std::vector<std::string>& names) {
  std::vector<std::int64_t> chosen;
  for (std::size_t k = 0; k < by_class.size(); ++k) {
    const auto size = static_cast<std::int64_t>(by_class[k].size());
    const std::int64_t count = count_of_share(size, options);
    check(count > 0 || size == 0, "--fraction: ", options.fraction, " of the ", size,
          " images of \"", names[k], "\" rounds down to 0; use a larger fraction, or ",
          "--fraction-rule drawn, which keeps at least one");
    const auto order = options.rule == FractionRule::first
                           ? sequential_order(size)
                           : shuffled_order(size, /*seed=*/0, static_cast<std::int64_t>(k));
    for (std::int64_t i = 0; i < count; ++i) chosen.push_back(by_class[k][order[i]]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// Of the images of class k, those that HoldOutRule::number holds out.
std::vector<std::int64_t> held_by_number(const std::vector<std::int64_t>& images, std::int64_t k,
                                         double fraction) {
  const std::int64_t size = std::ssize(images);
  const std::int64_t wanted = std::llround(fraction * static_cast<double>(size));
  const std::int64_t count = std::clamp<std::int64_t>(wanted, 1, size - 1);
  const auto order = shuffled_order(size, /*seed=*/1, k);
  std::vector<std::int64_t> held;
  for (std::int64_t i = 0; i < count; ++i) held.push_back(images[order[i]]);
  return held;
}

/// A random number in [0, 1), a function of the image's name and the seed.
double place_of(const Dataset& dataset, std::int64_t image, std::uint64_t seed) {
  ListEntry entry;
  dataset.list_entry(image, entry);
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char byte : composed_text(entry.name)) {
    hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3;
  }
  constexpr std::uint64_t stream = 0x68656C64;  // "held"
  const Philox4 words = philox(seed, stream, hash);
  return to_uniform53(words.v[0], words.v[1]);
}

/// Of the images of one class, those that HoldOutRule::name holds out.
std::vector<std::int64_t> held_by_name(const Dataset& dataset,
                                       const std::vector<std::int64_t>& images,
                                       const HoldOut& options) {
  std::vector<std::pair<double, std::int64_t>> places;
  for (const std::int64_t image : images) {
    places.emplace_back(place_of(dataset, image, options.seed), image);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::int64_t> held;
  for (const auto& [place, image] : places) {
    if (held.empty() || place < options.fraction) held.push_back(image);
  }
  if (held.size() == places.size()) held.pop_back();  // one to train on
  return held;
}

/// The entries of a list of classes: the lines of a file, or comma-separated.
std::vector<std::string> class_words(const std::string& text) {
  if (!is_file(text)) {
    std::vector<std::string> words = comma_parts(text);
    if (words.size() > 1 && words.back().empty()) words.pop_back();  // "3," is a name, not a count
    return words;
  }
  std::vector<std::string> words = listed_names(read_file(text), text);
  check(!words.empty(), text, ": contains no class, expected one per line");
  return words;
}

/// The chosen images; those of a detection set keep their boxes.
std::shared_ptr<const Dataset> subset_of(std::shared_ptr<const Dataset> whole,
                                         Subset::Choice choice) {
  if (auto boxes = std::dynamic_pointer_cast<const DetectionSet>(whole)) {
    return images_of(std::move(boxes), std::move(choice.images), std::move(choice.notice));
  }
  return std::make_shared<Subset>(std::move(whole), std::move(choice));
}

/// What was said about the whole set, then `more`.
std::string notice_of(const Dataset& whole, const std::string& more) {
  return whole.notice().empty() ? more : whole.notice() + "; " + more;
}

/// The classes of a choice, if the images have any to tell apart.
std::string classes_text(const Dataset& whole, const Subset::Choice& choice) {
  if (whole.classes() == 1) return "";
  return concat(" in ", choice.names.size(), " of ", whole.classes(), " classes");
}

}  // namespace

std::vector<std::int64_t> parse_classes(const std::string& text,
                                        const std::vector<std::string>& names) {
  if (const auto count = parse_integer(trimmed(text))) {  // even if classes are named 0, 1, ...
    check(*count >= 1 && *count <= static_cast<std::int64_t>(names.size()), "--classes: got ",
          *count, " classes, the data set has ", names.size());
    return sequential_order(*count);
  }
  const auto called = [](std::string_view word) { return visible_text(composed_text(word)); };
  if (const auto single = find_name(called(trimmed(text)), names)) return {*single};
  std::set<std::int64_t> chosen;
  for (const std::string& word : class_words(text)) chosen.insert(find_class(called(word), names));
  return {chosen.begin(), chosen.end()};
}

std::shared_ptr<const Dataset> relabelled(std::shared_ptr<const Dataset> dataset,
                                          std::vector<std::int64_t> labels,
                                          std::vector<std::string> names) {
  check(std::ssize(labels) == dataset->classes(), "relabelled: got ", labels.size(),
        " labels, expected one for each of ", dataset->classes(), " classes");
  const bool same = labels == sequential_order(std::ssize(labels));
  if (same && names == dataset->class_names()) return dataset;
  Subset::Choice all{sequential_order(dataset->size()), std::move(labels), std::move(names),
                     dataset->notice()};
  return std::make_shared<Subset>(std::move(dataset), std::move(all));
}

std::shared_ptr<const Dataset> hold_out(const std::shared_ptr<const Dataset>& dataset,
                                        const HoldOut& options, Split split) {
  check(options.fraction > 0 && options.fraction < 1, "--val-fraction: got ", options.fraction,
        ", expected more than 0 and less than 1");
  std::vector<bool> is_held(static_cast<std::size_t>(dataset->size()));
  const std::vector<std::vector<std::int64_t>> by_class = images_by_class(*dataset);
  for (std::size_t k = 0; k < by_class.size(); ++k) {
    if (by_class[k].size() < 2) continue;
    const std::vector<std::int64_t> held =
        options.rule == HoldOutRule::name
            ? held_by_name(*dataset, by_class[k], options)
            : held_by_number(by_class[k], static_cast<std::int64_t>(k), options.fraction);
    for (const std::int64_t image : held) is_held[image] = true;
  }
  Subset::Choice choice{{}, sequential_order(dataset->classes()), dataset->class_names(), {}};
  for (std::int64_t i = 0; i < dataset->size(); ++i) {
    if (is_held[i] == (split == Split::test)) choice.images.push_back(i);
  }
  check(!choice.images.empty(),
        "--val-fraction: no class has two images, expected at least one to train ",
        "on and one to test on");
  choice.notice = dataset->notice();  // said once, with the images held out
  if (split == Split::test) {
    const auto held = std::ssize(choice.images);
    choice.notice =
        notice_of(*dataset, concat("--val-fraction ", options.fraction, " holds out ", held, " of ",
                                   dataset->size(), " images for validation"));
  }
  return subset_of(dataset, std::move(choice));
}

std::shared_ptr<const Dataset> select(std::shared_ptr<const Dataset> dataset,
                                      const SubsetOptions& options) {
  check(options.fraction > 0 && options.fraction <= 1, "--fraction: got ", options.fraction,
        ", expected more than 0 and at most 1");
  if (options.classes.empty() && options.fraction == 1) return dataset;
  const bool has_boxes = std::dynamic_pointer_cast<const DetectionSet>(dataset) != nullptr;
  check(options.classes.empty() || !has_boxes,
        "--classes: selects images by their labels, but the data set has boxes; expected no ",
        "--classes with it");
  const std::vector<std::int64_t> classes =
      options.classes.empty() ? sequential_order(dataset->classes())
                              : parse_classes(options.classes, dataset->class_names());
  Subset::Choice choice;
  choice.labels.assign(static_cast<std::size_t>(dataset->classes()), -1);
  for (const std::int64_t old : classes) {
    choice.labels[old] = static_cast<std::int64_t>(choice.names.size());
    choice.names.push_back(dataset->class_names()[old]);
  }
  std::vector<std::vector<std::int64_t>> by_class = images_by_class(*dataset);
  for (std::size_t k = 0; k < by_class.size(); ++k)
    if (choice.labels[k] < 0) by_class[k].clear();
  choice.images = share_of(by_class, options, dataset->class_names());
  check(!choice.images.empty(), "--classes: the data set has no images of these classes");
  choice.notice =
      notice_of(*dataset, concat("using ", choice.images.size(), " of ", dataset->size(), " images",
                                 classes_text(*dataset, choice)));
  return subset_of(std::move(dataset), std::move(choice));
}

}  // namespace fovea
