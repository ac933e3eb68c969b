// Class name lookup, and the fallbacks to numbers and order.
#include "data/classes/class_match.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "data/classes/class_list.h"
#include "data/sources/subset.h"
#include "engine/base/error.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"
#include "engine/base/unicode.h"

namespace fovea {
namespace {

using ClassNames = std::vector<std::string>;
using ClassLabels = std::vector<std::int64_t>;

constexpr std::int64_t kUnknown = -1, kSeveral = -2;

bool are_distinct(const ClassLabels& labels) {
  return std::set(labels.begin(), labels.end()).size() == labels.size();
}

ClassLabels first_labels(std::size_t count) {
  ClassLabels labels(count);
  for (std::size_t k = 0; k < count; ++k) labels[k] = static_cast<std::int64_t>(k);
  return labels;
}

/// The names as label numbers; empty unless they are distinct numbers below `count`.
std::optional<ClassLabels> numbers_below(const ClassNames& names, std::int64_t count) {
  const ClassLabels numbers = all_numbers(names);
  const bool fits =
      std::ranges::all_of(numbers, [count](std::int64_t n) { return 0 <= n && n < count; });
  if (numbers.empty() || !fits || !are_distinct(numbers)) return std::nullopt;
  return numbers;
}

bool is_named(const ModelClasses& model) {
  return !model.names.empty() && all_numbers(model.names) != first_labels(model.names.size());
}

/// A name as given, its synset id and the words before the id; the latter two may be "".
std::array<std::string, 3> forms_of(std::string_view given) {
  const std::string name = composed_text(given);
  const std::size_t open = name.rfind(" (n");
  if (open == std::string::npos || !name.ends_with(')')) return {name, "", ""};
  const std::string id = name.substr(open + 2, name.size() - open - 3);
  const bool is_id = id.size() > 1 && id.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!is_id) return {name, "", ""};
  return {name, id, name.substr(0, open)};
}

/// Finds a model's class by a name from a data set.
class NameIndex {
 public:
  explicit NameIndex(const ModelClasses& model) {
    for (std::size_t k = 0; k < model.labels.size(); ++k)
      add(labels_, forms_of(model.labels[k])[0], k);
    for (std::size_t k = 0; k < model.names.size(); ++k) {
      const auto forms = forms_of(model.names[k]);
      for (std::size_t f = 0; f < forms.size(); ++f) add(forms_[f], forms[f], k);
    }
  }

  /// The class, kUnknown if there is none, or kSeveral if the name is ambiguous.
  [[nodiscard]] std::int64_t find(const std::string& name) const {
    for (const std::string& form : forms_of(name)) {
      for (const Index* index : {&labels_, &forms_[0], &forms_[1], &forms_[2]}) {
        const auto found = index->find(form);
        if (found != index->end()) return found->second;
      }
    }
    return kUnknown;
  }

  [[nodiscard]] ClassLabels find(const ClassNames& names) const {
    ClassLabels labels;
    for (const std::string& name : names) labels.push_back(find(name));
    return labels;
  }

 private:
  using Index = std::map<std::string, std::int64_t>;

  static void add(Index& index, const std::string& name, std::size_t k) {
    if (name.empty()) return;
    const auto [entry, is_new] = index.emplace(name, static_cast<std::int64_t>(k));
    if (!is_new) entry->second = kSeveral;
  }

  Index labels_;
  std::array<Index, 3> forms_;
};

/// Normalised numbers, so that 7 and 007 are equal.
ClassNames plain_texts(const ClassLabels& numbers) {
  ClassNames texts;
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

/// The model's label for each name of the data; if both sides are numbers, compares their values.
ClassLabels known_labels(const ModelClasses& model, const ClassNames& names) {
  if (names == model.names) return first_labels(names.size());
  const ClassLabels theirs = all_numbers(model.names), ours = all_numbers(names);
  if (theirs.empty() || ours.empty() || !are_distinct(theirs)) return NameIndex(model).find(names);
  return NameIndex({model.count, plain_texts(theirs)}).find(plain_texts(ours));
}

bool all_known(const ClassLabels& labels) {
  return std::ranges::all_of(labels, [](std::int64_t k) { return k >= 0; });
}

/// Whether a class map may define labels by its order: every known name is at its own position.
bool stand_in_order(const ClassLabels& known, std::int64_t count) {
  if (std::ssize(known) != count) return false;
  for (std::size_t k = 0; k < known.size(); ++k)
    if (known[k] >= 0 && known[k] != static_cast<std::int64_t>(k)) return false;
  return true;
}

std::optional<ClassMatch> match_unnamed(const ModelClasses& model, const DataClasses& data) {
  const bool as_many = std::ssize(data.names) == model.count;
  const std::optional<ClassLabels> numbers = numbers_below(data.names, model.count);
  if (numbers && !data.in_label_order) return ClassMatch{MatchedBy::number, *numbers, model.count};
  if (!as_many) return std::nullopt;
  return ClassMatch{MatchedBy::order, first_labels(data.names.size()), model.count};
}

/// A short list such as "apple, leaf, sea".
std::string examples(const ClassNames& names) { return first_few(names, 5); }

constexpr std::string_view kWayOut =
    "; --class-map FILE lists the data set's classes in the model's order, one per line, or "
    "selects those that the model has";

[[noreturn]] void refuse_counts(const ModelClasses& model, const DataClasses& data,
                                const std::string& context) {
  fail(context, ": does not name its ", model.count, " classes, but the ",
       data.in_label_order ? "class map" : "data set", " has ", data.names.size(), " (",
       examples(data.names), ")",
       "; --class-map FILE lists the data set's classes in the model's order, ",
       "one line for each of the ", model.count);
}

/// Rejects a class map with different names that cannot be used by its order.
[[noreturn]] void refuse_map(const ModelClasses& model, const ClassNames& names,
                             const ClassLabels& known, const std::string& context) {
  check(std::ssize(names) == model.count, context, ": has ", model.count, " classes (",
        examples(model.names), "), but the class map has ", names.size(),
        ", some of them unknown; expected one line per class, in the same order");
  std::size_t k = 0;
  while (known[k] < 0 || known[k] == static_cast<std::int64_t>(k)) ++k;
  fail(context, ": entry ", k + 1, " of the class map is \"", names[k],
       "\", the name of the model's class ", known[k],
       "; expected the model's order, because the map also has names that the model does not have");
}

[[noreturn]] void refuse_unknown(const ModelClasses& model, const ClassNames& names,
                                 const ClassLabels& known, std::size_t first,
                                 const std::string& context) {
  const std::string& name = names[first];
  check(known[first] == kUnknown, context, ": several of its classes are named \"", name, "\"",
        kWayOut);
  const auto others = std::ranges::count(known, kUnknown) - 1;
  fail(context, ": has no class \"", name, "\"",
       others > 0 ? concat(" (nor ", others, " more of the data set)") : "", "; its ", model.count,
       " classes are ", examples(model.names), kWayOut, did_you_mean(name, model.names));
}

[[noreturn]] void refuse_names(const ModelClasses& model, const DataClasses& data,
                               const std::string& context) {
  const ClassNames& names = data.names;
  const ClassLabels known = known_labels(model, names);
  const auto strange = std::ranges::find_if(known, [](auto k) { return k < 0; });
  if (strange != known.end() && data.in_label_order) refuse_map(model, names, known, context);
  if (strange != known.end())
    refuse_unknown(model, names, known, static_cast<std::size_t>(strange - known.begin()), context);
  const auto first_of = [&](std::size_t i) {
    return static_cast<std::size_t>(std::ranges::find(known, known[i]) - known.begin());
  };
  std::size_t second = 1;  // index of the first name whose class is already taken
  while (first_of(second) == second) ++second;
  const std::size_t first = first_of(second);
  fail(context, ": \"", names[first], "\" and \"", names[second],
       "\" of the data set both match its class \"",
       model.names[static_cast<std::size_t>(known[first])], "\"", kWayOut);
}

/// Whether each class of the data set has images.
std::vector<bool> classes_with_images(const Dataset& images) {
  std::vector<bool> used(static_cast<std::size_t>(images.classes()));
  for (std::int64_t i = 0; i < images.size(); ++i)
    used[static_cast<std::size_t>(images.label(i))] = true;
  return used;
}

/// Names for the model's unnamed classes: those of the data, otherwise their numbers.
ClassNames shown_names(const ModelClasses& model, const DataClasses& data,
                       const ClassMatch& match) {
  if (is_named(model)) return model.names;
  ClassNames names;
  for (std::int64_t k = 0; k < model.count; ++k) names.push_back(numbered_class(k));
  for (std::size_t i = 0; i < data.names.size(); ++i)
    names[static_cast<std::size_t>(match.labels[i])] = data.names[i];
  return names;
}

std::string order_notice(const ModelClasses& model, const DataClasses& data) {
  const std::string first = "class 0 is \"" + data.names.front() + "\"";
  if (is_named(model)) {
    return "classes are matched in the order of the class map: the model's \"" +
           model.names.front() + "\" is \"" + data.names.front() + "\"";
  }
  if (data.in_label_order) return "";
  std::string text =
      "the model does not name its classes: they are matched in the data set's order, " + first;
  if (std::ranges::is_sorted(data.names) && !is_in_natural_order(data.names))
    text += " (sorted by bytes, \"10\" before \"9\"; --class-map FILE specifies another order)";
  return text;
}

}  // namespace

std::string ClassMatch::text() const {
  return concat(labels.size(), " of ", model_classes, " by ", name_of(by));
}

bool ClassMatch::is_identity() const {
  return std::ssize(labels) == model_classes && labels == first_labels(labels.size());
}

std::string numbered_class(std::int64_t label) { return "class " + std::to_string(label); }

std::optional<std::int64_t> find_class(const ModelClasses& model, const std::string& name) {
  const std::int64_t label = known_labels(model, {name}).front();
  return label < 0 ? std::nullopt : std::optional(label);
}

std::optional<ClassMatch> find_match(const ModelClasses& model, const DataClasses& data) {
  if (!is_named(model)) return match_unnamed(model, data);
  const ClassLabels known = known_labels(model, data.names);
  if (all_known(known) && are_distinct(known))
    return ClassMatch{MatchedBy::name, known, model.count};
  if (data.in_label_order) {
    if (!stand_in_order(known, model.count)) return std::nullopt;
    return ClassMatch{MatchedBy::order, first_labels(known.size()), model.count};
  }
  const bool none_known = std::ranges::all_of(known, [](std::int64_t k) { return k == kUnknown; });
  const std::optional<ClassLabels> numbers = numbers_below(data.names, model.count);
  if (!none_known || !numbers) return std::nullopt;
  return ClassMatch{MatchedBy::number, *numbers, model.count};
}

ClassMatch match_classes(const ModelClasses& model, const DataClasses& data,
                         const std::string& context) {
  if (std::optional<ClassMatch> match = find_match(model, data)) return *std::move(match);
  if (!is_named(model)) refuse_counts(model, data, context);
  refuse_names(model, data, context);
}

std::string match_notice(const ModelClasses& model, const DataClasses& data,
                         const ClassMatch& match) {
  if (match.by == MatchedBy::order) return order_notice(model, data);
  if (match.by == MatchedBy::number && is_named(model)) {
    return "the data set's classes are numbers, used as the model's labels: " + data.names.front() +
           " is \"" + model.names[static_cast<std::size_t>(match.labels.front())] + "\"";
  }
  if (match.is_identity()) return "";
  if (std::ssize(match.labels) < match.model_classes) {
    return concat("the data set has ", match.labels.size(), " of the model's ", match.model_classes,
                  " classes, matched by ", name_of(match.by));
  }
  return concat("the data set has the model's classes in another order, matched by ",
                name_of(match.by));
}

MatchedImages match_images(const std::shared_ptr<const Dataset>& images, const ModelClasses& model,
                           bool in_label_order, const std::string& context) {
  DataClasses data{images->class_names(), in_label_order};
  std::vector<bool> asked(data.names.size(), true);
  if (is_named(model) && !in_label_order && !find_match(model, data)) {
    asked = classes_with_images(*images);
    data.names.clear();
    for (std::size_t k = 0; k < asked.size(); ++k)
      if (asked[k]) data.names.push_back(images->class_names()[k]);
  }
  ClassMatch match = match_classes(model, data, context);
  ClassLabels labels(asked.size(), -1);
  auto next = match.labels.begin();
  for (std::size_t k = 0; k < asked.size(); ++k)
    if (asked[k]) labels[k] = *next++;
  return {relabelled(images, std::move(labels), shown_names(model, data, match)), images, data,
          std::move(match)};
}

}  // namespace fovea
