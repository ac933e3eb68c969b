// Follows names iteratively and visits each dictionary once: the values of a pickle may contain
// each other in cycles.
#include "formats/torch/selection.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "formats/torch/objects.h"

namespace fovea {
namespace {

using Kind = PickleKind;

constexpr std::string_view kOutermost = ".";
constexpr int kMaxNames = 8;  ///< maximum number of names on a path to a dictionary

/// A dictionary and the path of names to it. The path text is built only when shown: a file may
/// have a million places but few distinct names.
struct Place {
  std::size_t parent;  ///< index of the parent place; the outermost dictionary is its own parent
  const std::string* name;  ///< key in the parent
  PickleRef ref;
  int names;  ///< number of names on the path
};

/// A dictionary in which at least half of the values are tensors.
struct Choice {
  std::size_t place;
  std::size_t tensors;
};

struct Choices {
  std::vector<Place> places;
  std::vector<Choice> choices;
};

/// Calls f(name, value) for each entry with a text key.
template <class F>
void for_each_name(const Pickle& pickle, PickleRef dictionary, const F& f) {
  const std::vector<PickleRef>& items = pickle.at(dictionary).items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (pickle.at(items[i]).kind == Kind::text) f(pickle.at(items[i]).text, items[i + 1]);
  }
}

std::size_t count_tensors(const Pickle& pickle, PickleRef dictionary) {
  std::size_t count = 0;
  for_each_name(pickle, dictionary,
                [&](const std::string&, PickleRef value) { count += is_tensor(pickle, value); });
  return count;
}

Choices find_choices(const Pickle& pickle) {
  Choices found{{{0, nullptr, pickle.root, 0}}, {}};
  std::set<PickleRef> seen{pickle.root};
  for (std::size_t i = 0; i < found.places.size(); ++i) {
    const Place place = found.places[i];
    if (pickle.at(place.ref).kind != Kind::dict) continue;
    const std::size_t tensors = count_tensors(pickle, place.ref);
    if (tensors > 0 && 4 * tensors >= pickle.at(place.ref).items.size()) {
      found.choices.push_back({i, tensors});
    }
    if (place.names == kMaxNames) continue;
    for_each_name(pickle, place.ref, [&](const std::string& name, PickleRef value) {
      if (pickle.at(value).kind != Kind::dict || !seen.insert(value).second) return;
      found.places.push_back({i, &name, value, place.names + 1});
    });
  }
  return found;
}

/// Drops dictionaries that contain fewer tensors than a single dictionary inside them: a wrapper
/// with a counter next to the weights is not a set.
void drop_wrappers(Choices& all) {
  // For each place, the most tensors of one dictionary below it.
  std::map<std::size_t, std::size_t> most_inside;
  for (const Choice& choice : all.choices) {
    for (std::size_t i = choice.place; all.places[i].name != nullptr;) {
      i = all.places[i].parent;
      std::size_t& most = most_inside[i];
      most = std::max(most, choice.tensors);
    }
  }
  std::erase_if(all.choices, [&](const Choice& choice) {
    const auto found = most_inside.find(choice.place);
    return found != most_inside.end() && found->second > choice.tensors;
  });
}

std::string path_of(const Choices& all, std::size_t place) {
  if (all.places[place].name == nullptr) return std::string(kOutermost);
  std::string path = *all.places[place].name;
  for (std::size_t i = all.places[place].parent; all.places[i].name != nullptr;
       i = all.places[i].parent) {
    path = *all.places[i].name + "." + path;
  }
  return path;
}

std::string list_of(const Choices& all) {
  constexpr std::size_t kMost = 20;
  const std::vector<Choice>& choices = all.choices;
  std::string text;
  for (std::size_t i = 0; i < std::min(choices.size(), kMost); ++i) {
    text += (i > 0 ? ", " : "") + in_quotes(path_of(all, choices[i].place)) + " (" +
            std::to_string(choices[i].tensors) +
            (choices[i].tensors == 1 ? " tensor)" : " tensors)");
  }
  if (choices.size() > kMost) text += " and " + std::to_string(choices.size() - kMost) + " more";
  return text;
}

/// Resolves a key whose names may contain dots: tries the longest name first.
std::optional<PickleRef> follow(const Pickle& pickle, std::string_view key) {
  PickleRef at = pickle.root;
  while (!key.empty()) {
    if (pickle.at(at).kind != Kind::dict) return {};
    std::optional<PickleRef> next;
    std::size_t used = 0;
    for_each_name(pickle, at, [&](const std::string& name, PickleRef value) {
      const bool leads = key == name || (key.starts_with(name) && key[name.size()] == '.');
      if (!leads || name.empty() || name.size() < used) return;
      next = value;
      used = name.size();
    });
    if (!next) return {};
    at = *next;
    key.remove_prefix(std::min(used + 1, key.size()));
  }
  return at;
}

/// Explains why a file has no candidate at all.
[[noreturn]] void complain(const Pickle& pickle, const std::string& where) {
  const bool is_dict = pickle.at(pickle.root).kind == Kind::dict;
  check(is_dict, where, ": contains ", describe_value(pickle, pickle.root),
        ", expected a dictionary of tensors, as torch.save(model.state_dict(), FILE) writes it");
  std::string names;
  for_each_name(pickle, pickle.root, [&](const std::string& name, PickleRef value) {
    if (names.size() > 300) return;
    names += (names.empty() ? "" : ", ") + in_quotes(name) + " is " + describe_value(pickle, value);
  });
  fail(where, ": contains no dictionary of tensors", names.empty() ? "" : "; ", names);
}

}  // namespace

Selection select_dictionary(const Pickle& pickle, const WeightsKey& key, const std::string& where) {
  Choices all = find_choices(pickle);
  drop_wrappers(all);
  const std::size_t count = all.choices.size();
  const bool keyless = key.name.empty();
  const std::optional<PickleRef> named = key.name == kOutermost ? pickle.root
                                         : keyless              ? std::nullopt
                                                                : follow(pickle, key.name);
  const bool is_dict = named && pickle.at(*named).kind == Kind::dict;
  if (is_dict && count_tensors(pickle, *named) > 0) return {*named, true};
  if (count == 0) complain(pickle, where);
  if (count == 1) {
    const Place& only = all.places[all.choices.front().place];
    if (keyless || key.is_shared || only.name == nullptr) return {only.ref};
  }
  if (keyless) {
    fail(where, ": contains ", count, " dictionaries of tensors; --weights-key selects one of ",
         list_of(all));
  }
  const std::string what =
      named ? " is " + describe_value(pickle, *named) + " without tensors" : " is not in it";
  fail(where, ": ", in_quotes(key.name), what, ", expected one of ", list_of(all));
}

}  // namespace fovea
