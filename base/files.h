// Reading and writing whole files so that nothing is ever half there.
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

#include "base/descriptor.h"

namespace fovea {

/// Larger files are refused where a whole one is read: nothing that is read so comes near it.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;

/// The whole file. Throws Error with the path and the reason: the system's, or that it is no
/// regular file (pipes and devices may never end), or larger than kMaxFileBytes.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Writes beside `path`, syncs file and folder, renames. On any failure (also a full disk) the old
/// file stands, the temporary is removed and Error names the path and the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
/// The same, for content produced in pieces: `produce` is given a function that appends.
void write_file_atomically(
    const std::filesystem::path& path,
    const std::function<void(const std::function<void(std::string_view)>& append)>& produce);

/// Makes a folder and those above it that are missing; what is made survives a power cut. Throws
/// Error with path and reason.
void make_folder(const std::filesystem::path& folder);

/// A folder that one process alone writes into, until it ends, however it does: the system holds
/// the lock, on the file ".lock" in the folder, which says who has it.
class FolderLock {
 public:
  /// Throws Error, naming the holder, where another process has it.
  explicit FolderLock(const std::filesystem::path& folder);

  /// Why nothing is locked, as on some network file systems; empty: it is.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  Descriptor file_;
  std::string failure_;
};

/// Bytes that are read here and there.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `into` with the bytes from `offset` on. Throws Error when they end before that.
  virtual void read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
  /// The same as a text of `count` bytes.
  [[nodiscard]] std::string text_at(std::uint64_t offset, std::uint64_t count) const;

 protected:
  ByteSource() = default;
  ByteSource(const ByteSource&) = default;
  ByteSource& operator=(const ByteSource&) = default;
};

/// Those in memory.
class MemoryBytes : public ByteSource {
 public:
  /// The bytes must outlive this. `name` stands for the path in errors.
  MemoryBytes(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  void read_at(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  std::string_view bytes_;
  std::string name_;
};

/// Those of a regular file, by system calls and not through a map: where a mapped file is cut
/// short, or its disk fails, the system ends the program. Here every failure is an Error with path
/// and reason.
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

/// A file that grows line by line, as logs do. Content is kept in memory until flush().
class AppendFile {
 public:
  AppendFile() = default;
  /// Opens, or makes, the file and puts what is appended after what it holds.
  explicit AppendFile(std::filesystem::path path);
  AppendFile(AppendFile&& other) noexcept : AppendFile() { *this = std::move(other); }
  AppendFile& operator=(AppendFile&& other) noexcept;  ///< `other` flushes what this one held
  ~AppendFile();  ///< flushes; a failure is lost, so call flush() where it matters

  void append(std::string_view content) { pending_ += content; }
  /// Hands everything to the system. On failure the file is cut back to what it held before and
  /// Error names the path and the reason.
  void flush();

 private:
  std::filesystem::path path_;
  std::string pending_;
  Descriptor file_;
};

}  // namespace fovea
