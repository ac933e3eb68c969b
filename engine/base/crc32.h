// CRC-32, the checksum of zip files.
#pragma once

#include <cstdint>
#include <string_view>

namespace fovea {

/// The checksum of `bytes`, or of earlier bytes with checksum `before` followed by `bytes`.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace fovea
