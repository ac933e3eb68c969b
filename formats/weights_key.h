// Which of a file's sets of weights is meant.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace fovea {

/// The names that lead to a dictionary of tensors from a file's outermost one, joined by dots, as
/// "model" or "state.ema"; "." is the outermost itself. Empty: the only one. It concerns files that
/// have such names: one that is a set of weights itself is read as it is.
struct WeightsKey {
  std::string name{};
  bool is_shared = false;  ///< by several files: of one that has a single set, that is meant

  WeightsKey() = default;
  template <class Text>
  requires std::convertible_to<Text, std::string_view> WeightsKey(
      const Text& text, bool shared = false)  // NOLINT: most keys are a name and no more
      : name(std::string_view(text)), is_shared(shared) {}
};

}  // namespace fovea
