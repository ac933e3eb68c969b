// Fuzzes the reader of HDF5 files: any bytes give numbers or an Error, also where libhdf5 crashes
// in the child process. libhdf5 opens files by their real path, so each input is a file in memory
// (/dev/shm).
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "data/sources/dense/nyu/hdf5.h"
#include "engine/base/error.h"

namespace {

/// A file that is gone at the end of the process.
struct Scratch {
  Scratch() : path("/dev/shm/fovea-fuzz-hdf5-" + std::to_string(getpid())) {}
  ~Scratch() { std::filesystem::remove(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::filesystem::path path;
};

}  // namespace

// libhdf5 1.10.8 itself leaks a few kilobytes when it refuses a damaged file.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  std::ofstream(scratch.path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    const fovea::Hdf5File file(scratch.path);
    for (const char* name : {"images", "depths", "rawDepths"}) {
      try {
        const fovea::StoredEntry entry = file.entry(name);
        fovea::Shape row = entry.shape;
        row[0] = 1;
        if (row.numel() > 1 << 16) continue;  // keeps every input fast
        const std::int64_t last = entry.shape[0] - 1;
        if (!(file.read_rows(name, last, 1).shape() == row)) __builtin_trap();
      } catch (const fovea::Error&) {
      }
    }
  } catch (const fovea::Error&) {  // the documented answer to bad input
  }
  return 0;
}
