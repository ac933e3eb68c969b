// Writing of zip files with stored members, whose bytes arrive in pieces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/new_file.h"

namespace fovea {

/// Members and files beyond 4 GiB, and more than 65,535 members, take the zip64 form. The file
/// appears with finish(), see NewFile; it must be a regular one, because headers are completed
/// afterwards.
class ZipWriter {
 public:
  struct Member {
    std::string name;
    std::uint64_t size = 0, offset = 0;
    std::uint32_t crc = 0;
  };

  /// Sizes and offsets from `wide_from` on take the zip64 form; only tests need a smaller limit.
  explicit ZipWriter(const std::filesystem::path& path, Unfinished unfinished = Unfinished::removed,
                     std::uint64_t wide_from = kMax32);

  /// Begins a member of exactly `size` bytes. The previous one must be complete.
  void begin(const std::string& name, std::uint64_t size);
  /// Begins the first member, which starts with `head` and goes on in units of `unit` bytes, or
  /// continues it in a kept file after the units of the last commit(). Returns their number; what
  /// follows them is cut off. Throws if the file begins otherwise.
  std::uint64_t resume(const Member& member, std::string_view head, std::uint64_t unit);
  void append(std::string_view bytes);
  /// Makes the units of a resumed member so far survive a power failure, for the next resume().
  void commit();
  void finish();

 private:
  static constexpr std::uint64_t kMax32 = 0xffffffff;

  [[nodiscard]] std::string header_of(const Member& member) const;
  [[nodiscard]] std::string entry_of(const Member& member) const;
  [[nodiscard]] std::string end_records(std::uint64_t start) const;
  [[nodiscard]] bool is_wide(std::uint64_t value) const { return value >= wide_from_; }
  [[nodiscard]] std::uint32_t narrow(std::uint64_t value) const;
  void open(const Member& member);
  void end_member();

  std::string context_;
  std::uint64_t wide_from_;
  NewFile file_;
  std::vector<Member> members_;
  std::uint64_t left_ = 0;      ///< bytes that the last member lacks
  std::uint64_t unit_ = 0;      ///< of a member that was resumed, bytes; 0: it was not
  std::uint64_t units_at_ = 0;  ///< where its first unit begins in the file
  bool is_open_ = false;        ///< whether its header lacks the checksum
};

}  // namespace fovea
