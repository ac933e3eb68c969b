// Reads arrays of numbers at the root of an HDF5 file, such as a MATLAB 7.3 file, through libhdf5.
// A build without it has the same functions, which throw.
//
// libhdf5 crashes on some damaged files and runs one thread at a time. Each file is read by a child
// process, so that a crash becomes an error; threads that read from a file wait for each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/formats/stored_type.h"
#include "engine/tensor.h"

namespace fovea {

class Hdf5File {
 public:
  /// Throws Error, starting with the path, on anything but a whole HDF5 file, and in a build
  /// without libhdf5. Later calls, too, throw Error if the file is damaged.
  explicit Hdf5File(const std::filesystem::path& path);
  ~Hdf5File();
  Hdf5File(Hdf5File&&) noexcept;
  Hdf5File& operator=(Hdf5File&&) noexcept;

  [[nodiscard]] bool has(const std::string& name) const;
  /// Type and shape of the array with that name. Axes are in the file's order: MATLAB writes an
  /// array of height x width as (width, height). Throws Error on anything but integers and floats
  /// of at most 64 bits in the file itself: texts, links, data in other files.
  [[nodiscard]] StoredEntry entry(const std::string& name) const;
  /// The rows [first, first + count) along the first axis, in held_dtype(). May be called from
  /// several threads. Throws Error on rows that do not exist, on damaged data, and on rows of
  /// more than kMaxFileBytes.
  [[nodiscard]] Tensor read_rows(const std::string& name, std::int64_t first,
                                 std::int64_t count) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fovea
