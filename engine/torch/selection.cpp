// Walks from name to name, without recursion and to each dictionary once: a pickle's values may
// hold each other in circles.
#include "engine/torch/selection.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "engine/torch/objects.h"

namespace fovea {
namespace {

using Kind = PickleKind;

constexpr std::string_view kOutermost = ".";
constexpr int kMostNames = 8;  ///< that lead to a dictionary

/// A dictionary that tensors are the better part of.
struct Choice {
  std::string path;
  PickleRef ref = 0;
  std::size_t tensors = 0;
};

/// f(name, value) of each entry whose key is a text.
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

std::vector<Choice> find_choices(const Pickle& pickle) {
  struct Place {
    std::string path;
    PickleRef ref;
    int names;
  };
  std::vector<Choice> choices;
  std::vector<Place> places{{"", pickle.root, 0}};
  std::set<PickleRef> seen{pickle.root};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place place = places[i];
    if (pickle.at(place.ref).kind != Kind::dict) continue;
    const std::size_t tensors = count_tensors(pickle, place.ref);
    if (tensors > 0 && 4 * tensors >= pickle.at(place.ref).items.size()) {
      choices.push_back(
          {place.path.empty() ? std::string(kOutermost) : place.path, place.ref, tensors});
    }
    if (place.names == kMostNames) continue;
    for_each_name(pickle, place.ref, [&](const std::string& name, PickleRef value) {
      if (pickle.at(value).kind != Kind::dict || !seen.insert(value).second) return;
      places.push_back(
          {place.path.empty() ? name : place.path + "." + name, value, place.names + 1});
    });
  }
  return choices;
}

std::string list_of(const std::vector<Choice>& choices) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(choices.size(), kMost); ++i) {
    text += (i > 0 ? ", " : "") + in_quotes(choices[i].path) + " (" +
            std::to_string(choices[i].tensors) +
            (choices[i].tensors == 1 ? " tensor)" : " tensors)");
  }
  if (choices.size() > kMost) text += " and " + std::to_string(choices.size() - kMost) + " more";
  return text;
}

/// Follows names that may hold dots themselves: the whole rest of the key before a part of it.
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

/// A file without a single choice.
[[noreturn]] void complain(const Pickle& pickle, const std::string& where) {
  const bool is_dict = pickle.at(pickle.root).kind == Kind::dict;
  check(is_dict, where, ": holds ", describe_value(pickle, pickle.root),
        ", expected a dictionary of tensors, as torch.save(model.state_dict(), FILE) writes it");
  std::string names;
  for_each_name(pickle, pickle.root, [&](const std::string& name, PickleRef value) {
    if (names.size() > 300) return;
    names += (names.empty() ? "" : ", ") + in_quotes(name) + " is " + describe_value(pickle, value);
  });
  fail(where, ": holds no dictionary of tensors", names.empty() ? "" : "; ", names);
}

}  // namespace

PickleRef select_dictionary(const Pickle& pickle, std::string_view key, const std::string& where) {
  const std::vector<Choice> choices = find_choices(pickle);
  if (key.empty()) {
    if (choices.empty()) complain(pickle, where);
    check(choices.size() == 1, where, ": holds ", choices.size(),
          " dictionaries of tensors; --weights-key takes one of ", list_of(choices));
    return choices.front().ref;
  }
  const std::optional<PickleRef> named = key == kOutermost ? pickle.root : follow(pickle, key);
  if (!named && choices.empty()) complain(pickle, where);
  check(named.has_value(), where, ": nothing in it is called ", in_quotes(std::string(key)),
        ", expected one of ", list_of(choices));
  const bool has_tensors =
      pickle.at(*named).kind == Kind::dict && count_tensors(pickle, *named) > 0;
  if (!has_tensors && choices.empty()) complain(pickle, where);
  check(has_tensors, where, ": ", in_quotes(std::string(key)), " is ",
        describe_value(pickle, *named), " without tensors, expected one of ", list_of(choices));
  return *named;
}

}  // namespace fovea
