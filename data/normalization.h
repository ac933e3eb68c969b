// Normalisation of channels.
#pragma once

#include <array>

namespace fovea {

/// y = (x - mean) / deviation per channel, where x is in 0 .. 1: u8 / 255, u16 / 65535.
struct Normalization {
  std::array<float, 3> mean, deviation;
};
inline constexpr Normalization kCifarNormalization = {{0.4914F, 0.4822F, 0.4465F},
                                                      {0.2470F, 0.2435F, 0.2616F}};
inline constexpr Normalization kImageNetNormalization = {{0.485F, 0.456F, 0.406F},
                                                         {0.229F, 0.224F, 0.225F}};

}  // namespace fovea
