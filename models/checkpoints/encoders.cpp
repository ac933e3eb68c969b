// Finding encoders by the tensors that each of them has.
#include "models/checkpoints/encoders.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace fovea {
namespace {

/// The prefix of a name that ends with `tail`, at the border of two parts.
std::optional<std::string> prefix_before(std::string_view name, std::string_view tail) {
  if (!name.ends_with(tail)) return {};
  name.remove_suffix(tail.size());
  if (!name.empty() && name.back() != '.' && name.back() != '/') return {};  // / in JAX's names
  return std::string(name);
}

/// The first part of a name with its dot; empty for a name of a single part.
std::string_view first_part(std::string_view name) {
  return name.substr(0, name.find('.') == std::string_view::npos ? 0 : name.find('.') + 1);
}

}  // namespace

std::vector<EncoderPlace> find_encoders(const NameSet& names) {
  std::map<std::string, const Translation*> places;
  for (const Translation* const translation : translations()) {
    for (const std::string& name : names) {
      const std::optional<std::string> prefix = prefix_before(name, translation->anchor);
      if (!prefix || !names.contains(*prefix + std::string(translation->companion))) continue;
      places.emplace(*prefix, translation);
    }
  }
  std::vector<EncoderPlace> found;
  for (const auto& place : places) {
    const std::string& prefix = place.first;
    // A detector's backbone is a part of it.
    const bool is_backbone = std::ranges::any_of(found, [&](const EncoderPlace& other) {
      return other.translation == &kDetector && prefix.starts_with(other.prefix);
    });
    if (!is_backbone) found.push_back({prefix, place.second});
  }
  return found;
}

std::string shared_prefix(const NameSet& names) {
  constexpr std::array<std::string_view, 7> kOwn{"patch_embed.", "blocks.",    "norm.", "head.",
                                                 "conv_layers.", "pos_block.", "heads."};
  if (names.empty()) return {};
  std::string_view shared = *names.begin();
  std::size_t length = 0;
  while (true) {
    const std::string_view part = first_part(shared.substr(length));
    const bool own = std::ranges::find(kOwn, part) != kOwn.end();
    if (part.empty() || own) break;
    const std::string_view prefix = shared.substr(0, length + part.size());
    const bool is_shared = std::ranges::all_of(
        names, [&](const std::string& name) { return name.starts_with(prefix); });
    if (!is_shared) break;
    length += part.size();
  }
  const bool leads_to_own = std::ranges::any_of(names, [&](std::string_view name) {
    const std::string_view part = first_part(name.substr(length));
    return std::ranges::find(kOwn, part) != kOwn.end();
  });
  return leads_to_own ? std::string(shared.substr(0, length)) : std::string();
}

bool lies_in(std::string_view name, const EncoderPlace& encoder,
             const std::vector<EncoderPlace>& all) {
  if (!name.starts_with(encoder.prefix)) return false;
  return std::ranges::none_of(all, [&](const EncoderPlace& other) {
    return other.prefix.size() > encoder.prefix.size() && name.starts_with(other.prefix);
  });
}

}  // namespace fovea
