// Fuzzes the tar reader: any bytes give members and samples inside of them, or an Error.
#include <cstdint>
#include <string>
#include <string_view>

#include "data/sources/packed/tar_samples.h"
#include "engine/base/error.h"

namespace {

void check_inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  if (offset > size || bytes > size - offset) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fovea::MemoryBytes bytes(text, "input");
  try {
    const auto members = fovea::index_tar(bytes, "input");
    for (const fovea::TarMember& member : members) check_inside(member.offset, member.size, size);
    const fovea::TarSamples found = fovea::group_tar(bytes, members, "input");
    for (const fovea::TarSample& sample : found.samples) {
      check_inside(sample.offset, sample.size, size);
      if (sample.label < 0) __builtin_trap();
    }
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  if (size > 64) return 0;
  try {
    if (fovea::shard_names(std::string(text)).empty()) __builtin_trap();
  } catch (const fovea::Error&) {
  }
  return 0;
}
