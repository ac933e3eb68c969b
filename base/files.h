// Reading and writing whole files so that nothing is ever half there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// The whole file. Throws Error with the path and the system's reason.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Writes beside `path`, syncs file and folder, renames. On any failure (also a full disk) the old
/// file stands, the temporary is removed and Error names the path and the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
/// The same, for content produced in pieces: `produce` is given a function that appends.
void write_file_atomically(
    const std::filesystem::path& path,
    const std::function<void(const std::function<void(std::string_view)>& append)>& produce);

/// A regular file that is read here and there. Every failure is an Error with path and reason.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Fills `into` with the bytes from `offset` on. Throws when the file ends before that.
  void read_at(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
};

/// A file that grows line by line, as logs do. Content is kept in memory until flush().
class AppendFile {
 public:
  AppendFile() = default;
  /// Opens, or makes, the file and puts what is appended after what it holds.
  explicit AppendFile(std::filesystem::path path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();  ///< flushes; a failure is lost, so call flush() where it matters

  void append(std::string_view content) { pending_ += content; }
  /// Hands everything to the system. On failure the file is cut back to what it held before and
  /// Error names the path and the reason.
  void flush();

 private:
  std::filesystem::path path_;
  std::string pending_;
  int descriptor_ = -1;
};

}  // namespace fovea
