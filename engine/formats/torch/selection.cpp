// Follows names iteratively and visits each dictionary once: the values of a pickle may contain
// each other in cycles.
#include "engine/formats/torch/selection.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/torch/objects.h"
#include "engine/formats/torch/state.h"

namespace fovea {
namespace {

constexpr std::string_view kOutermost = ".";
constexpr std::size_t kMaxModules = 1000;
constexpr int kMaxNames = 8;  ///< maximum number of names on a path to a dictionary

/// A value and the path of names to it. The path text is built only when shown: a file may have a
/// million places but few distinct names.
struct ValuePlace {
  std::size_t parent;       ///< index of the parent place; the outermost value is its own parent
  const std::string* name;  ///< key in the parent; null in a list, and for the outermost value
  std::size_t index;        ///< position in a list
  PickleRef ref;
  int names;  ///< number of names on the path
};

/// A module, or a dictionary in which at least half of the values are weights.
struct Choice {
  std::size_t place;
  std::size_t tensors;
  int evidence;  ///< the most of any tensor, see evidence_of()
};

struct Choices {
  std::vector<ValuePlace> places;
  std::vector<Choice> choices{};
  std::size_t modules = 0;  ///< number of modules among the places
};

/// Calls f(name, index, value) for each entry with a text key, each attribute of an object and each
/// item of a list or tuple. Items have no name.
template <class F>
void for_each_inside(const Pickle& pickle, PickleRef ref, const F& f) {
  const PickleValue& value = pickle.at(ref);
  if (value.kind == PickleKind::list || value.kind == PickleKind::tuple) {
    for (std::size_t i = 0; i < value.items.size(); ++i) f(nullptr, i, value.items[i]);
    return;
  }
  for (const std::vector<PickleRef>* items : {&pickle.entries(ref), &pickle.attributes(ref)}) {
    for (std::size_t i = 0; i + 1 < items->size(); i += 2) {
      const PickleValue& key = pickle.at((*items)[i]);
      if (key.kind == PickleKind::text) f(&key.text, i, (*items)[i + 1]);
    }
  }
}

/// 3 for tensors of floating-point numbers, 2 for such arrays of NumPy, 1 for counters and other
/// integers: weights are what a file has most evidence of.
int evidence_of(const Pickle& pickle, PickleRef value) {
  if (!is_float_weight(pickle, value)) return 1;
  return is_tensor(pickle, value) ? 3 : 2;
}

/// Adds the place's value if it may be a set of weights.
void judge(const Pickle& pickle, std::size_t index, Choices& found, const std::string& context) {
  const PickleRef ref = found.places[index].ref;
  Choice choice{index, 0, 0};
  const auto count = [&](PickleRef value) {
    ++choice.tensors;
    if (choice.evidence < 3) {
      choice.evidence = std::max(choice.evidence, evidence_of(pickle, value));
    }
  };
  if (is_module(pickle, ref)) {
    check(++found.modules <= kMaxModules, context, ": contains more than ", kMaxModules,
          " modules");
    for (const NamedValue& weight : named_values(pickle, ref, context).weights) count(weight.value);
  } else {
    const std::vector<PickleRef>& items = pickle.entries(ref);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (pickle.at(items[i]).kind == PickleKind::text && is_weight(pickle, items[i + 1])) {
        count(items[i + 1]);
      }
    }
    if (4 * choice.tensors < items.size()) return;
  }
  if (choice.tensors > 0) found.choices.push_back(choice);
}

bool may_contain(const Pickle& pickle, PickleRef ref) {
  const PickleValue& value = pickle.at(ref);
  return value.kind == PickleKind::dict || value.kind == PickleKind::list ||
         value.kind == PickleKind::tuple || !pickle.entries(ref).empty() ||
         !pickle.attributes(ref).empty();
}

Choices find_choices(const Pickle& pickle, const std::string& context) {
  Choices found{{{0, nullptr, 0, pickle.root, 0}}};
  std::set<PickleRef> seen{pickle.root};
  for (std::size_t i = 0; i < found.places.size(); ++i) {
    const ValuePlace place = found.places[i];
    judge(pickle, i, found, context);
    if (place.names == kMaxNames || is_module(pickle, place.ref)) continue;
    for_each_inside(pickle, place.ref,
                    [&](const std::string* name, std::size_t index, PickleRef value) {
                      if (!may_contain(pickle, value) || !seen.insert(value).second) return;
                      found.places.push_back({i, name, index, value, place.names + 1});
                    });
  }
  int most = 0;
  for (const Choice& choice : found.choices) most = std::max(most, choice.evidence);
  std::erase_if(found.choices, [&](const Choice& choice) { return choice.evidence < most; });
  return found;
}

/// Drops dictionaries that contain fewer tensors than a single dictionary inside them: a wrapper
/// with a counter next to the weights is not a set.
void drop_wrappers(Choices& all) {
  // For each place, the most tensors of one dictionary below it.
  std::map<std::size_t, std::size_t> most_inside;
  for (const Choice& choice : all.choices) {
    for (std::size_t i = choice.place; i != 0;) {
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
  if (place == 0) return std::string(kOutermost);
  std::string path;
  for (std::size_t i = place; i != 0; i = all.places[i].parent) {
    const ValuePlace& at = all.places[i];
    path = (at.name != nullptr ? *at.name : std::to_string(at.index)) +
           (path.empty() ? "" : "." + path);
  }
  return path;
}

std::string list_of(const Choices& all) {
  constexpr std::size_t kMax = 20;
  const std::vector<Choice>& choices = all.choices;
  std::string text;
  for (std::size_t i = 0; i < std::min(choices.size(), kMax); ++i) {
    text += (i > 0 ? ", " : "") + in_quotes(path_of(all, choices[i].place)) + " (" +
            std::to_string(choices[i].tensors) +
            (choices[i].tensors == 1 ? " tensor)" : " tensors)");
  }
  if (choices.size() > kMax) text += " and " + std::to_string(choices.size() - kMax) + " more";
  return text;
}

/// Resolves a key whose names may contain dots: tries the longest name first. A list's items are
/// called by their number.
std::optional<PickleRef> follow(const Pickle& pickle, std::string_view key) {
  PickleRef at = pickle.root;
  if (key == kOutermost) return at;
  while (!key.empty()) {
    const std::string first(key.substr(0, key.find('.')));
    std::optional<PickleRef> next;
    std::size_t used = 0;
    for_each_inside(pickle, at, [&](const std::string* given, std::size_t index, PickleRef value) {
      if (given == nullptr && first != std::to_string(index)) return;
      const std::string& name = given != nullptr ? *given : first;
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
[[noreturn]] void complain(const Pickle& pickle, const std::string& context) {
  check(may_contain(pickle, pickle.root), context, ": contains ",
        describe_value(pickle, pickle.root),
        ", expected a dictionary of tensors, as torch.save(model.state_dict(), FILE) writes it");
  std::string names;
  for_each_inside(
      pickle, pickle.root, [&](const std::string* name, std::size_t index, PickleRef value) {
        if (names.size() > 300) return;
        names += (names.empty() ? "" : ", ") + in_quotes(name ? *name : std::to_string(index)) +
                 " is " + describe_value(pickle, value);
      });
  fail(context, ": contains no dictionary of tensors", names.empty() ? "" : "; ", names);
}

/// Looks for averages under the names that timm, DeiT and DiT give them.
std::optional<Selection> find_averages(const Pickle& pickle, const std::string& context) {
  for (const char* const name : {"state_dict_ema", "model_ema", "ema"}) {
    const std::optional<PickleRef> named = follow(pickle, name);
    if (named && !named_values(pickle, *named, context).weights.empty())
      return Selection{*named, true};
  }
  return {};
}

}  // namespace

Selection select_dictionary(const Pickle& pickle, const WeightsKey& key,
                            const std::string& context) {
  Choices all = find_choices(pickle, context);
  drop_wrappers(all);
  const std::size_t count = all.choices.size();
  const bool keyless = key.name.empty() && !key.is_averaged;
  if ((key.is_averaged || key.prefers_averaged) && key.name.empty()) {
    if (const auto averages = find_averages(pickle, context)) return *averages;
  }
  std::string misses = " is not in it";
  if (!key.name.empty()) {
    if (const std::optional<PickleRef> named = follow(pickle, key.name)) {
      if (!named_values(pickle, *named, context).weights.empty()) return {*named, true};
      misses = " is " + describe_value(pickle, *named) + " without tensors";
    }
  }
  if (count == 0) complain(pickle, context);
  if (count == 1) {
    const ValuePlace& only = all.places[all.choices.front().place];
    if (keyless || key.is_shared || only.names == 0) return {only.ref};
  }
  if (keyless) {
    fail(context, ": contains ", count, " dictionaries of tensors; --weights-key selects one of ",
         list_of(all));
  }
  check(!key.name.empty(), context,
        ": has no averaged weights, state_dict_ema, model_ema or ema, but ", list_of(all),
        "; leave out --use-ema, or select one with --weights-key");
  fail(context, ": ", in_quotes(key.name), misses, ", expected one of ", list_of(all));
}

}  // namespace fovea
