// Decompression of the deflate format (RFC 1951), as in zip files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fovea {

/// The data that `packed` stands for, `size` bytes. Throws Error, starting with `where`, on damaged
/// data and on more or fewer bytes.
[[nodiscard]] std::string inflate(std::string_view packed, std::uint64_t size,
                                  const std::string& where);

}  // namespace fovea
