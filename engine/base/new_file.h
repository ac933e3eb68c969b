// A file that is written in pieces and appears only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "engine/base/descriptor.h"

namespace fovea {

/// Collects content in a temporary file next to `path`; finish() syncs it and the folder, and
/// renames it. Without finish() the old file stays as it was and the temporary is removed, by the
/// destructor or, if the process was killed, by the next write to that path. Every failure is an
/// Error with the path and the reason. A device or pipe is written directly.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::string_view content);
  /// Writes at an offset from the start, also beyond the end. Does not move where append() writes.
  void write_at(std::uint64_t offset, std::string_view content);
  /// Where append() writes next.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Makes the file visible under its name. Call it once, last.
  void finish();

 private:
  std::filesystem::path path_;       ///< as given, for errors
  std::filesystem::path target_;     ///< behind symbolic links; empty for a device or pipe
  std::filesystem::path temporary_;  ///< empty when there is nothing to remove
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace fovea
