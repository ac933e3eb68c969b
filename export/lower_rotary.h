// Rotary positions of queries and keys in the lowering of attention.
#pragma once

#include <string>

#include "export/lowering.h"

namespace fovea::onnx {

/// x [B, H, tokens, D] turned by the constant table that is the op's input `table`, or x itself if
/// the op has none. The places of tokens follow the table; they must be omitted.
[[nodiscard]] std::string rotated(const Call& c, const std::string& x, std::int64_t tokens,
                                  int table);

}  // namespace fovea::onnx
