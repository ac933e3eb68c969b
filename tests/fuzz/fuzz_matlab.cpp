// Fuzzes the reader of MATLAB 5 files: any bytes give tensors or an Error. Most mutations break a
// compressed variable, so the bytes after the file's header are also read as one of each kind.
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "engine/formats/matlab.h"

namespace {

void read_all(const std::string& bytes) {
  try {
    const fovea::MatlabFile file(bytes, "input");
    for (const auto& variable : file.variables()) {
      try {
        static_cast<void>(file.read_indices(variable.name, 1 << 16));
      } catch (const fovea::Error&) {
      }
      if (variable.shape.numel() > 1 << 20) continue;  // keeps every input fast
      try {
        if (!(file.read(variable.name).shape() == variable.shape)) __builtin_trap();
      } catch (const fovea::Error&) {
      }
    }
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read_all(bytes);
  std::string header(124, ' ');
  const auto count = static_cast<std::uint32_t>(size + 8);
  for (const bool big : {false, true}) {
    std::string file = header + (big ? std::string("\1\0MI", 4) : std::string("\0\1IM", 4));
    std::string tag(8, '\0');
    tag[big ? 3 : 0] = 14;
    for (int i = 0; i < 4; ++i)
      tag[4 + (big ? 3 - i : i)] = static_cast<char>((count - 8) >> (8 * i));
    read_all(file + tag + bytes);
  }
  return 0;
}
