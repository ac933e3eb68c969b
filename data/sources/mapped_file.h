// A file mapped into memory, for reading here and there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace fovea {

/// Read only. The file must not be cut short while it is mapped: the system ends a program that
/// reads behind its new end.
class MappedFile {
 public:
  /// Throws Error with the path and the system's reason.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace fovea
