// Files of numpy.savez (.npz): a zip file with a .npy file for each array. JAX's weights of ViTs
// are such files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/files.h"
#include "engine/formats/numpy/layout.h"
#include "engine/formats/zip.h"

namespace fovea {

/// Whether the bytes are a zip file with arrays of NumPy.
[[nodiscard]] bool is_npz(const ByteSource& source);

/// The arrays of a file by name, without ".npy". Data are read on demand.
class NpzFile {
 public:
  /// Reads the headers of all arrays. Throws Error, starting with `context`, on malformed input.
  /// `source` must outlive this object.
  NpzFile(const ByteSource& source, std::string context);

  [[nodiscard]] const std::vector<StoredEntry>& entries() const { return entries_; }
  /// The entry of an array; null if there is none of that name.
  [[nodiscard]] const StoredEntry* find(const std::string& name) const;
  /// Names of members that are not arrays of numbers; they are skipped.
  [[nodiscard]] const std::vector<std::string>& others() const { return others_; }

  /// All arrays, converted to held_dtype().
  [[nodiscard]] std::map<std::string, Tensor> read() const;
  /// One array. Throws if there is none of that name.
  [[nodiscard]] Tensor read(const std::string& name) const;
  /// Whether an array's rows, along its first axis, can be read without the others: not if it is
  /// compressed or in Fortran order.
  [[nodiscard]] bool has_rows(const std::string& name) const;
  /// The rows [first, first + count). Throws unless has_rows().
  [[nodiscard]] Tensor read_rows(const std::string& name, std::int64_t first,
                                 std::int64_t count) const;

 private:
  struct Array {
    ZipMember member;
    NpyHeader header;
  };
  void add(const std::string& name, const ZipMember& member);
  [[nodiscard]] Tensor read(const StoredEntry& entry, const Array& array) const;
  [[nodiscard]] std::size_t index_of(const std::string& name) const;

  const ByteSource& source_;
  std::string context_;
  std::vector<StoredEntry> entries_;
  std::vector<Array> arrays_;  ///< in the order of entries_
  std::vector<std::string> others_;
};

}  // namespace fovea
