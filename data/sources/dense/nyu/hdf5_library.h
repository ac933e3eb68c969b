// An HDF5 file, opened by libhdf5 in this process. Private to this folder.
//
// libhdf5 crashes on some damaged files; Hdf5File calls it in a child process. It has no locks:
// one thread only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/formats/stored_type.h"

namespace fovea {

/// As Hdf5File, with the same errors.
class Hdf5Library {
 public:
  explicit Hdf5Library(const std::filesystem::path& path);
  ~Hdf5Library();
  Hdf5Library(const Hdf5Library&) = delete;
  Hdf5Library& operator=(const Hdf5Library&) = delete;

  /// Whether there is something of that name in the file, not a link to another one.
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] StoredEntry entry(const std::string& name) const;
  struct Rows {
    StoredEntry entry;  ///< type, and shape of the rows
    std::string values;
  };
  [[nodiscard]] Rows rows(const std::string& name, std::int64_t first, std::int64_t count) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fovea
