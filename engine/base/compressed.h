// Compressed files, recognised by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace fovea {

/// "is compressed with gzip; unpack it with gunzip" if a file that starts so is compressed, or "".
[[nodiscard]] std::string compression_of(std::string_view start);

}  // namespace fovea
