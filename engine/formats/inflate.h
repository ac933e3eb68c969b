// Decompression of the deflate format (RFC 1951), as in zip files, and of zlib's (RFC 1950), which
// is deflate with a header and a checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fovea {

/// The data that `packed` stands for, `size` bytes. Throws Error, starting with `context`, on
/// damaged data and on more or fewer bytes.
[[nodiscard]] std::string inflate(std::string_view packed, std::uint64_t size,
                                  const std::string& context);

/// The first `count` bytes of the data of a zlib stream, or all if it has fewer. The checksum is
/// verified when the stream ends within them. Throws Error, starting with `context`, on damaged
/// data.
[[nodiscard]] std::string inflate_start(std::string_view packed, std::uint64_t count,
                                        const std::string& context);

}  // namespace fovea
