// Writing of files of numpy.savez. Elements arrive in pieces, so that an array may be larger than
// the memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "engine/formats/stored_type.h"
#include "engine/formats/zip_writer.h"
#include "engine/tensor.h"

namespace fovea {

/// Arrays are stored without compression, in C order. The file appears with finish(), see NewFile.
class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path, Unfinished unfinished = Unfinished::removed)
      : zip_(path, unfinished) {}

  /// Begins an array, without ".npy" in its name. The previous one must be complete. Throws on
  /// types that NumPy does not have.
  void begin(const std::string& name, StoredType type, const Shape& shape);
  /// The same for the first array of a file whose unfinished content is kept: continues the array
  /// that the content begins with. Returns the number of its rows, along the first axis, that were
  /// committed. Throws if the content begins otherwise.
  std::int64_t resume(const std::string& name, StoredType type, const Shape& shape);
  /// The next elements of the array, little-endian.
  void append(std::span<const std::byte> elements);
  /// Makes the rows of a resumed array so far survive a power failure.
  void commit() { zip_.commit(); }
  /// A whole array from a tensor of any strides on any device.
  void add(const std::string& name, const Tensor& tensor);
  void finish() { zip_.finish(); }

 private:
  ZipWriter zip_;
};

}  // namespace fovea
