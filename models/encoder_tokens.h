// The tokens in the blocks of an encoder over patches.
#pragma once

#include "models/layers/encoder_config.h"
#include "models/layers/patch_embed.h"
#include "models/model.h"

namespace fovea {

/// For images of image.img_size, with `prefix` tokens before the patches.
[[nodiscard]] inline TokenInfo encoder_tokens(const PatchConfig& image, std::int64_t prefix,
                                              const EncoderConfig& c) {
  return {.grid = {image.grid(), prefix},
          .cell = image.patch_size,
          .blocks = c.depth,
          .heads = c.num_heads,
          .softmax = !c.is_differential()};
}

}  // namespace fovea
