// Choosing classes and images, and the data set that shows only those.
#include "data/sources/subset.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/text.h"
#include "data/loading/sampler.h"

namespace fovea {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// "n01440764" of "tench (n01440764)".
std::string id_of(const std::string& name) {
  const std::size_t open = name.rfind(" (");
  if (open == std::string::npos || name.back() != ')') return name;
  return name.substr(open + 2, name.size() - open - 3);
}

std::int64_t find_class(const std::string& word, const std::vector<std::string>& names) {
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] == word || id_of(names[k]) == word) return static_cast<std::int64_t>(k);
  if (const auto number = parse_integer(word)) {
    check(*number >= 0 && *number < static_cast<std::int64_t>(names.size()),
          "choosing classes: got ", *number, ", expected 0 to ", names.size() - 1);
    return *number;
  }
  fail("choosing classes: the data set has no class \"", word, "\"", did_you_mean(word, names));
}

class Subset : public Dataset {
 public:
  struct Choice {
    std::vector<std::int64_t> classes;  ///< new label -> old label
    std::vector<std::int64_t> images;   ///< new index -> old index
  };
  Subset(std::shared_ptr<const Dataset> whole, Choice choice)
      : whole_(std::move(whole)), images_(std::move(choice.images)) {
    labels_.resize(static_cast<std::size_t>(whole_->classes()), -1);
    for (const std::int64_t old : choice.classes) {
      labels_[old] = static_cast<std::int64_t>(names_.size());
      names_.push_back(whole_->class_names()[old]);
    }
  }

  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(images_.size());
  }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    return relabelled(whole_->get(old_index(index)));
  }
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override {
    return relabelled(whole_->get(old_index(index), choose, shrink_to));
  }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return labels_[whole_->label(old_index(index))];
  }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override {
    return whole_->file(old_index(index));
  }
  void verify(std::int64_t index) const override { whole_->verify(old_index(index)); }
  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return whole_->describe(old_index(index));
  }
  void list_entry(std::int64_t index, ListEntry& entry) const override {
    whole_->list_entry(old_index(index), entry);
    if (entry.label >= 0) entry.label = labels_[entry.label];
  }
  [[nodiscard]] ImageSize image_size() const override { return whole_->image_size(); }
  [[nodiscard]] std::vector<std::int64_t> parts() const override;
  [[nodiscard]] std::string notice() const override {
    std::ostringstream text;
    if (!whole_->notice().empty()) text << whole_->notice() << "; ";
    text << "using " << size() << " of " << whole_->size() << " images in " << names_.size()
         << " of " << whole_->classes() << " classes";
    return text.str();
  }

 private:
  [[nodiscard]] std::int64_t old_index(std::int64_t index) const {
    check(index >= 0 && index < size(), "subset: got index ", index, ", expected 0 to ",
          size() - 1);
    return images_[index];
  }
  [[nodiscard]] Sample relabelled(Sample sample) const {
    sample.label = labels_[sample.label];
    return sample;
  }

  std::shared_ptr<const Dataset> whole_;
  std::vector<std::int64_t> images_;
  std::vector<std::int64_t> labels_;  ///< old label -> new label; -1: left out
  std::vector<std::string> names_;
};

/// What is left of each part.
std::vector<std::int64_t> Subset::parts() const {
  std::vector<std::int64_t> left;
  auto image = images_.begin();
  std::int64_t end = 0;
  for (const std::int64_t part : whole_->parts()) {
    end += part;
    const auto next = std::lower_bound(image, images_.end(), end);
    left.push_back(next - image);
    image = next;
  }
  return left;
}

/// How many of a class's images.
std::int64_t count_of_share(std::int64_t size, const SubsetOptions& options) {
  const double exact = options.fraction * static_cast<double>(size);
  if (options.rule == FractionRule::first) return static_cast<std::int64_t>(exact);
  const auto count = static_cast<std::int64_t>(std::ceil(exact - 1e-9));
  return std::max(count, std::min<std::int64_t>(size, 1));
}

/// Of each class's images, in their order, those that the rule says.
std::vector<std::int64_t> share_of(const std::vector<std::vector<std::int64_t>>& by_class,
                                   const SubsetOptions& options,
                                   const std::vector<std::string>& names) {
  std::vector<std::int64_t> chosen;
  for (std::size_t k = 0; k < by_class.size(); ++k) {
    const auto size = static_cast<std::int64_t>(by_class[k].size());
    const std::int64_t count = count_of_share(size, options);
    check(count > 0 || size == 0, "choosing a share of the images: ", options.fraction, " of the ",
          size, " images of \"", names[k], "\" rounds down to none; a larger share is needed, or ",
          "the rule that draws at least one");
    const auto order = options.rule == FractionRule::first
                           ? sequential_order(size)
                           : shuffled_order(size, /*seed=*/0, static_cast<std::int64_t>(k));
    for (std::int64_t i = 0; i < count; ++i) chosen.push_back(by_class[k][order[i]]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

std::vector<std::int64_t> parse_classes(const std::string& text,
                                        const std::vector<std::string>& names) {
  std::set<std::int64_t> chosen;
  if (const auto count = parse_integer(trimmed(text))) {  // also where classes are called 0, 1, ...
    check(*count >= 1 && *count <= static_cast<std::int64_t>(names.size()),
          "choosing classes: got ", *count, " classes, the data set has ", names.size());
    return sequential_order(*count);
  }
  std::vector<std::string> words = split_text(text, ',');
  if (!words.empty() && words.back().empty()) words.pop_back();  // "3," is a name, not a count
  for (const std::string& word : words)
    chosen.insert(find_class(visible_text(trimmed(word)), names));
  return {chosen.begin(), chosen.end()};
}

std::shared_ptr<const Dataset> select(std::shared_ptr<const Dataset> dataset,
                                      const SubsetOptions& options) {
  check(options.fraction > 0 && options.fraction <= 1, "choosing a share of the images: got ",
        options.fraction, ", expected more than 0 and at most 1");
  if (options.classes.empty() && options.fraction == 1) return dataset;
  Subset::Choice choice;
  choice.classes = options.classes.empty() ? sequential_order(dataset->classes())
                                           : parse_classes(options.classes, dataset->class_names());
  std::vector<std::vector<std::int64_t>> by_class(static_cast<std::size_t>(dataset->classes()));
  for (std::int64_t i = 0; i < dataset->size(); ++i) by_class[dataset->label(i)].push_back(i);
  std::vector<bool> wanted(by_class.size());
  for (const std::int64_t k : choice.classes) wanted[k] = true;
  for (std::size_t k = 0; k < by_class.size(); ++k)
    if (!wanted[k]) by_class[k].clear();
  choice.images = share_of(by_class, options, dataset->class_names());
  check(!choice.images.empty(), "choosing classes: no images of these classes");
  return std::make_shared<Subset>(std::move(dataset), std::move(choice));
}

}  // namespace fovea
