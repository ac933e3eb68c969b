// Looking up metadata.
#include "engine/formats/metadata.h"

namespace fovea {

std::string value_or(const Metadata& metadata, const std::string& key,
                     const std::string& otherwise) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? otherwise : found->second;
}

}  // namespace fovea
