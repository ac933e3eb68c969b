// The metadata of files: text by key.
#pragma once

#include <map>
#include <string>

namespace fovea {

using Metadata = std::map<std::string, std::string>;
/// The value of a key, or `otherwise` if the key is missing.
[[nodiscard]] std::string value_or(const Metadata& metadata, const std::string& key,
                                   const std::string& otherwise);

}  // namespace fovea
