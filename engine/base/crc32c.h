// CRC-32C (Castagnoli), the checksum of packed data sets and TensorBoard records.
#pragma once

#include <cstdint>
#include <string_view>

namespace fovea {

/// The checksum of `bytes`, or of earlier bytes with checksum `before` followed by `bytes`.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace fovea
