// Fuzzes the reader of NumPy's .npz files: zip directories, deflated members and array headers. Any
// bytes give tensors or an Error. The header's parser gets the bytes directly, too, because most
// mutations break the zip file around it.
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/formats/numpy/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const fovea::MemoryBytes source(bytes, "input");
  try {
    const fovea::NpzFile file(source, "input");
    const auto tensors = file.read();
    if (tensors.size() != file.entries().size()) __builtin_trap();
    for (const fovea::StoredEntry& entry : file.entries()) {
      if (tensors.at(entry.name).shape() != entry.shape) __builtin_trap();
    }
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  try {
    const auto header = fovea::parse_npy_header(bytes, "input");
    if (header && header->size > size) __builtin_trap();
  } catch (const fovea::Error&) {
  }
  return 0;
}
