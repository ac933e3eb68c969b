// The key that selects one of a file's sets of weights.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace fovea {

/// The path of names from the outermost dictionary to the dictionary of tensors, joined by dots,
/// such as "model" or "state.ema"; "." is the outermost itself. Empty: the only one. Ignored for
/// files that are a set of weights themselves.
struct WeightsKey {
  std::string name{};
  bool is_shared = false;  ///< meant for several files: a file with a single set uses that set
  /// Without a name: the averaged weights of timm's or DeiT's checkpoints, state_dict_ema or
  /// model_ema.
  bool is_averaged = false;
  bool prefers_averaged = false;  ///< without a name: these if there are any

  WeightsKey() = default;
  template <class Text>
  requires std::convertible_to<Text, std::string_view> WeightsKey(
      const Text& text, bool shared = false)  // NOLINT: most keys are just a name
      : name(std::string_view(text)), is_shared(shared) {}
};

}  // namespace fovea
