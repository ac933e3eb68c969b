// The encoders in a file: the prefixes under which the names of a ViT's weights lie.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "models/checkpoints/translations/translation.h"

namespace fovea {

using NameSet = std::set<std::string, std::less<>>;

struct EncoderPlace {
  std::string prefix;              ///< empty, or ends with a dot or, in JAX, a slash
  const Translation* translation;  ///< whose names follow the prefix
};

/// The encoders by prefix, in alphabetical order. Empty if no name is one of a ViT's.
[[nodiscard]] std::vector<EncoderPlace> find_encoders(const NameSet& names);

/// The longest prefix of whole parts that all names share. Parts that a model here has itself
/// ("blocks.") do not count, so weights of a part of a model keep their names.
[[nodiscard]] std::string shared_prefix(const NameSet& names);

/// True for names under the encoder's prefix that are not under the longer prefix of another one.
[[nodiscard]] bool lies_in(std::string_view name, const EncoderPlace& encoder,
                           const std::vector<EncoderPlace>& all);

}  // namespace fovea
