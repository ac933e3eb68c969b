// Reading and writing whole files such that no partial file is ever visible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/descriptor.h"

namespace fovea {

/// Larger files are rejected when a whole file is read; no legitimate one comes close to this
/// size.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;

/// The content of a file. Throws Error with the path and the reason: the system's message, not a
/// regular file (pipes and devices may never end), or larger than kMaxFileBytes.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Writes a temporary file next to `path`, syncs it and the folder, then renames it. On any
/// failure (including a full disk) the old file is untouched, the temporary is removed and Error
/// names the path and the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
/// The same for content produced in pieces: `produce` receives a function that appends.
void write_file_atomically(
    const std::filesystem::path& path,
    const std::function<void(const std::function<void(std::string_view)>& append)>& produce);

/// Creates a folder and its missing parents so that they survive a power failure. Throws Error
/// with path and reason.
void make_folder(const std::filesystem::path& folder);

/// An exclusive lock on a folder for this process. The system releases it however the process
/// ends. The lock is held on the file ".lock" in the folder, which records the owner.
class FolderLock {
 public:
  /// Throws Error, naming the owner, when another process holds the lock.
  explicit FolderLock(const std::filesystem::path& folder);

  /// Why locking failed, as on some network file systems; empty when the folder is locked.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  Descriptor file_;
  std::string failure_;
};

/// Bytes with random access.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `into` with the bytes from `offset` on. Throws Error when the source ends before that.
  virtual void read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
  /// The same as a string of `count` bytes.
  [[nodiscard]] std::string text_at(std::uint64_t offset, std::uint64_t count) const;

 protected:
  ByteSource() = default;
  ByteSource(const ByteSource&) = default;
  ByteSource& operator=(const ByteSource&) = default;
};

/// Bytes in memory.
class MemoryBytes : public ByteSource {
 public:
  /// The bytes must outlive this object. `name` takes the place of the path in errors.
  MemoryBytes(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  void read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  std::string_view bytes_;
  std::string name_;
};

/// The bytes of a regular file, read by system calls instead of mmap: when a mapped file is
/// truncated or its disk fails, the system kills the program. Here every failure is an Error with
/// path and reason.
class InputFile : public ByteSource {
 public:
  explicit InputFile(std::filesystem::path path);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  void read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  Descriptor file_;
};

/// A file that grows line by line, such as a log. Content stays in memory until flush().
class AppendFile {
 public:
  AppendFile() = default;
  /// Opens or creates the file for appending.
  explicit AppendFile(std::filesystem::path path);
  AppendFile(AppendFile&& other) noexcept : AppendFile() { *this = std::move(other); }
  AppendFile& operator=(AppendFile&& other) noexcept;  ///< flushes the content of this file first
  ~AppendFile();  ///< flushes, ignoring failures: call flush() where they matter

  void append(std::string_view content) { pending_ += content; }
  /// Writes everything to the system. On failure the file is truncated to its previous size and
  /// Error names the path and the reason.
  void flush();

 private:
  std::filesystem::path path_;
  std::string pending_;
  Descriptor file_;
};

}  // namespace fovea
