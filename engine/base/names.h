// Names that users type: suggestions for misspellings, and the names of enumeration members.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace fovea {

/// The candidate with the smallest edit distance to `word` (insertions, deletions, substitutions,
/// swaps of neighbours), or else the first one that contains `word`. Empty if none is close.
[[nodiscard]] std::string nearest_name(std::string_view word,
                                       const std::vector<std::string>& candidates);

/// "; did you mean X?", to end a message with; empty if nothing is close.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& candidates);

/// A member of an enumeration and its name in flags, files and messages.
template <class Enum>
struct Named {
  Enum value;
  std::string_view name;
};

/// The names of an enumeration, stated once, right below it:
///     template <>
///     inline constexpr auto kNames<Color> = std::to_array<Named<Color>>({{Color::red, "red"}});
template <class Enum>
inline constexpr std::array<Named<Enum>, 0> kNames{};

/// The name of a value. Throws Error on a value without one.
template <class Enum>
[[nodiscard]] std::string name_of(Enum value) {
  for (const Named<Enum>& entry : kNames<Enum>) {
    if (entry.value == value) return std::string(entry.name);
  }
  fail("name_of: got the value ", static_cast<long long>(value), ", which has no name");
}

/// All names, in the table's order.
template <class Enum>
[[nodiscard]] std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const Named<Enum>& entry : kNames<Enum>) names.emplace_back(entry.name);
  return names;
}

template <class Enum>
[[nodiscard]] std::optional<Enum> find_named(std::string_view name) {
  for (const Named<Enum>& entry : kNames<Enum>) {
    if (entry.name == name) return entry.value;
  }
  return {};
}

/// Throws "<what>: got X, expected one of A, B, C; did you mean B?".
[[noreturn]] void refuse_name(std::string_view what, std::string_view name,
                              const std::vector<std::string>& known);

/// The member with that name. The Error for an unknown name contains `what`, all names and the
/// nearest.
template <class Enum>
[[nodiscard]] Enum parse_name(std::string_view what, std::string_view name) {
  if (const std::optional<Enum> found = find_named<Enum>(name)) return *found;
  refuse_name(what, name, names_of<Enum>());
}

}  // namespace fovea
