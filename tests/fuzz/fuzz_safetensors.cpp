// Fuzzes the safetensors reader: any bytes give tensors or an Error.
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/formats/safetensors.h"
#include "engine/formats/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const fovea::SafetensorsFile file = fovea::parse_safetensors(bytes, "input");
    std::size_t held = 0;
    for (const auto& entry : file.tensors) held += entry.second.storage().bytes();
    if (held > 8 * size) __builtin_trap();  // a stored byte becomes at most one i64
  } catch (const fovea::Error&) {           // the documented answer to bad input
  }
  try {  // the header alone: most mutations break the length before it
    const fovea::SafetensorsHeader header = fovea::parse_header(bytes, 1 << 10, "input");
    const std::string text = fovea::format_header(header, "output");
    const auto json = std::string_view(text).substr(fovea::kHeaderLengthBytes);
    if (fovea::parse_header(json, 1 << 10, "output").entries.size() != header.entries.size()) {
      __builtin_trap();
    }
  } catch (const fovea::Error&) {
  }
  return 0;
}
