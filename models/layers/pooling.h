// Pooling: how the tokens of the last block are reduced to one vector for the head.
#pragma once

#include "engine/base/names.h"

namespace fovea {

enum class Pooling {
  token,   ///< the class token
  avg,     ///< the mean of the patch tokens
  avgmax,  ///< half their mean and half their maximum
  max,     ///< their maximum per channel
  map,     ///< attention over them by a learned query
  none,    ///< all tokens as they are: features
};
template <>
inline constexpr auto kNames<Pooling> = std::to_array<Named<Pooling>>({{Pooling::token, "token"},
                                                                       {Pooling::avg, "avg"},
                                                                       {Pooling::avgmax, "avgmax"},
                                                                       {Pooling::max, "max"},
                                                                       {Pooling::map, "map"},
                                                                       {Pooling::none, "none"}});

/// True if the final norm acts on the pooled vector by default, as in timm.
[[nodiscard]] constexpr bool norms_pooled(Pooling pooling) {
  return pooling == Pooling::avg || pooling == Pooling::avgmax || pooling == Pooling::max;
}

}  // namespace fovea
