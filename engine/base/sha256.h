// SHA-256 (FIPS 180-4), to identify files.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace fovea {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// The digest in 64 hexadecimal digits. Call it once, last.
  [[nodiscard]] std::string finish();

 private:
  void add_block(const char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string pending_;  ///< less than a block
  std::uint64_t bytes_ = 0;
};

/// The digest of a file's content, as the command sha256sum prints it.
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace fovea
