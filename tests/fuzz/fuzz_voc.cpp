// Fuzzes the reader of VOC's annotations: any bytes give objects with finite boxes or an Error.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "data/sources/boxes/voc_file.h"
#include "engine/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const fovea::VocFile file =
        fovea::parse_voc({reinterpret_cast<const char*>(data), size}, "input");
    if (file.size.height < 1 || file.size.width < 1) __builtin_trap();
    for (const fovea::VocObject& object : file.objects) {
      const bool finite = std::isfinite(object.x) && std::isfinite(object.y);
      if (!finite || object.name.empty()) __builtin_trap();
    }
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
