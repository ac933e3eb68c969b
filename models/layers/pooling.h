// Pooling: how the tokens of the last block are reduced to one vector for the head.
#pragma once

#include "base/names.h"

namespace fovea {

/// The class token, or the mean of the patch tokens.
enum class Pooling { token, avg };
template <>
inline constexpr auto kNames<Pooling> = std::to_array<Named<Pooling>>({{Pooling::token, "token"},
                                                                       {Pooling::avg, "avg"}});

}  // namespace fovea
