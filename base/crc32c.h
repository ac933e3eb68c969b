// CRC-32C (Castagnoli): the checksum of packed data sets and of TensorBoard's records.
#pragma once

#include <cstdint>
#include <string_view>

namespace fovea {

/// Of `bytes`, or of what came before (whose checksum is `before`) and `bytes` together.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace fovea
