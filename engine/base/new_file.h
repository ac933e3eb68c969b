// A file that is written in pieces and appears only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "engine/base/descriptor.h"

namespace fovea {

/// What becomes of the content of a file that is not finished.
enum class Unfinished {
  removed,  ///< by the destructor or, if the process was killed, by the next write to that path
  kept,     ///< in PATH.partial, which the next NewFile of that path continues
};

/// Collects content in a temporary file next to `path`; finish() syncs it and the folder, and
/// renames it. Without finish() the old file stays as it was. Every failure is an Error with the
/// path and the reason. A device or pipe is written directly.
class NewFile {
 public:
  /// Throws if another process is writing the kept content.
  explicit NewFile(std::filesystem::path path, Unfinished unfinished = Unfinished::removed);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::string_view content);
  /// Writes at an offset from the start, also beyond the end. Does not move where append() writes.
  void write_at(std::uint64_t offset, std::string_view content);
  /// Where append() writes next: at first, the size of the kept content.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Cuts the content; append() goes on there.
  void truncate(std::uint64_t size);
  /// Returns when everything written so far survives a power failure.
  void sync();
  /// The file that has the content until finish(), to read it back.
  [[nodiscard]] const std::filesystem::path& unfinished_path() const { return temporary_; }
  /// Makes the file visible under its name. Call it once, last.
  void finish();

 private:
  void open_kept();

  std::filesystem::path path_;       ///< as given, for errors
  std::filesystem::path target_;     ///< behind symbolic links; empty for a device or pipe
  std::filesystem::path temporary_;  ///< empty for a device or pipe, and after finish()
  Unfinished unfinished_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace fovea
