// Fuzzes the reader of torch.save files in the zip format and the older one: any bytes give
// tensors, not much larger than the file, or an Error.
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/formats/torch/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fovea::MemoryBytes source(std::string_view(reinterpret_cast<const char*>(data), size),
                                  "input");
  for (const char* key : {"", "model"}) {
    try {
      const fovea::TorchDictionary dictionary(source, key, "input");
      const auto tensors = dictionary.read();
      if (tensors.size() != dictionary.entries().size()) __builtin_trap();
      std::size_t held = 0;
      for (const auto& entry : tensors) held += entry.second.storage().bytes();
      // A stored byte becomes at most one i64, and may be repeated 16 times, or to 16 MiB.
      if (held > 8 * (16 * size + (std::size_t{16} << 20))) __builtin_trap();
    } catch (const fovea::Error&) {  // the documented answer to bad input
    }
  }
  return 0;
}
