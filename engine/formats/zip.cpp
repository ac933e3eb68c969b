// Reads from the end backwards: the end record locates the directory, the directory each member's
// header, and the header the member's bytes (PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3).
#include "engine/formats/zip.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/inflate.h"

namespace fovea {
namespace {

constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46,
                        kLocalBytes = 30, kMaxCommentBytes = 65535;
constexpr int kDeflated = 8;
constexpr std::uint32_t kIn64 = 0xffffffff;  // "see the zip64 field"

/// The little-endian number at an offset of a record.
template <class T>
T number(std::string_view record, std::size_t at) {
  T value;
  std::memcpy(&value, record.data() + at, sizeof(T));
  return value;
}

bool is_signed(std::string_view record, const char (&signature)[5]) {
  return record.starts_with(std::string_view(signature, 4));
}

struct Directory {
  std::uint64_t offset = 0, size = 0, count = 0;
};

struct Member : ZipMember {
  std::string name;
  std::uint64_t header = 0;  ///< offset of the member's own header
};

class ZipReader {
 public:
  ZipReader(const ByteSource& source, const std::string& context)
      : source_(source), context_(context) {}

  std::map<std::string, ZipMember> read() {
    const Directory directory = find_directory();
    std::vector<Member> members = read_members(directory);
    for (Member& member : members) find_bytes(member, directory.offset);
    check_overlap(members);
    std::map<std::string, ZipMember> found;
    for (const Member& member : members) {
      require(found.emplace(member.name, member).second, "has the member ", in_quotes(member.name),
              " twice");
    }
    return found;
  }

 private:
  template <class... Parts>
  void require(bool ok, const Parts&... parts) const {
    if (!ok) fail(context_, ": the zip file ", parts...);
  }

  /// Finds the end record. Only a comment may follow it, and torch.save does not write one.
  Directory find_directory() const {
    const std::uint64_t tail = std::min(source_.size(), kEndBytes + kMaxCommentBytes);
    const std::string text = source_.text_at(source_.size() - tail, tail);
    for (std::uint64_t back = kEndBytes; back <= tail; ++back) {
      const std::string_view record = std::string_view(text).substr(tail - back);
      if (!is_signed(record, "PK\5\6") || number<std::uint16_t>(record, 20) != back - kEndBytes) {
        continue;
      }
      const std::uint64_t at = source_.size() - back;
      Directory found{number<std::uint32_t>(record, 16), number<std::uint32_t>(record, 12),
                      number<std::uint16_t>(record, 10)};
      require(number<std::uint32_t>(record, 4) == 0, "is one of several disks");
      const std::uint64_t limit = find_directory64(at, found);
      require(found.offset <= limit && found.size <= limit - found.offset,
              "has its directory outside of the file (is the file damaged?)");
      require(found.size <= kMaxDirectoryBytes, "has a directory of ", found.size,
              " bytes, expected at most ", kMaxDirectoryBytes);
      return found;
    }
    fail(context_, ": the zip file has no end record (is the file truncated?)");
  }

  /// Returns where the end records begin; reads the zip64 directory if there is one.
  std::uint64_t find_directory64(std::uint64_t end, Directory& directory) const {
    if (end < kLocatorBytes) return end;
    const std::string locator = source_.text_at(end - kLocatorBytes, kLocatorBytes);
    if (!is_signed(locator, "PK\6\7")) return end;
    const auto at = number<std::uint64_t>(locator, 8);
    const std::uint64_t limit = end - kLocatorBytes;
    require(at <= limit && kEnd64Bytes <= limit - at, "has its zip64 record outside of the file");
    const std::string record = source_.text_at(at, kEnd64Bytes);
    require(is_signed(record, "PK\6\6"), "has no zip64 record at the recorded position");
    require(number<std::uint64_t>(record, 16) == 0, "is one of several disks");
    directory = {number<std::uint64_t>(record, 48), number<std::uint64_t>(record, 40),
                 number<std::uint64_t>(record, 32)};
    return at;
  }

  std::vector<Member> read_members(const Directory& directory) const {
    const std::string text = source_.text_at(directory.offset, directory.size);
    std::string_view rest = text;
    std::vector<Member> members;
    while (!rest.empty()) {
      require(rest.size() >= kEntryBytes && is_signed(rest, "PK\1\2"), "has a damaged directory");
      const std::size_t name = number<std::uint16_t>(rest, 28),
                        extra = number<std::uint16_t>(rest, 30),
                        all = kEntryBytes + name + extra + number<std::uint16_t>(rest, 32);
      require(rest.size() >= all, "has a truncated directory");
      members.push_back(read_entry(rest.substr(0, kEntryBytes), rest.substr(kEntryBytes, name),
                                   rest.substr(kEntryBytes + name, extra)));
      rest.remove_prefix(all);
    }
    require(members.size() == directory.count, "has ", members.size(),
            " members in its directory, but its end record lists ", directory.count);
    return members;
  }

  Member read_entry(std::string_view entry, std::string_view name, std::string_view extra) const {
    Member member;
    member.name = name;
    member.header = number<std::uint32_t>(entry, 42);
    member.size = number<std::uint32_t>(entry, 20);
    member.data_size = number<std::uint32_t>(entry, 24);
    const std::string quoted = in_quotes(member.name);
    require((number<std::uint16_t>(entry, 8) & 1) == 0, "has the encrypted member ", quoted);
    const int method = number<std::uint16_t>(entry, 10);
    require(method == 0 || method == kDeflated, "has the member ", quoted, " compressed by method ",
            method, "; repack it without compression (zip -0)");
    member.is_deflated = method == kDeflated;
    // 64-bit numbers are in an extra field with tag 1, in this order, each only when needed.
    std::string_view wide = wide_field(extra);
    for (std::uint64_t* value : {&member.data_size, &member.size, &member.header}) {
      if (*value != kIn64) continue;
      require(wide.size() >= 8, "lacks the zip64 sizes of ", quoted);
      *value = number<std::uint64_t>(wide, 0);
      wide.remove_prefix(8);
    }
    // A deflated byte stands for at most 1032, so that no small file fills the memory.
    const bool fits = member.is_deflated ? member.data_size / 1032 <= member.size
                                         : member.data_size == member.size;
    require(fits, "has the member ", quoted, " of ", member.data_size, " bytes stored in ",
            member.size);
    return member;
  }

  static std::string_view wide_field(std::string_view extra) {
    while (extra.size() >= 4) {
      const std::size_t size = number<std::uint16_t>(extra, 2);
      if (size > extra.size() - 4) return {};
      if (number<std::uint16_t>(extra, 0) == 1) return extra.substr(4, size);
      extra.remove_prefix(4 + size);
    }
    return {};
  }

  /// The member's own header gives the offset of its bytes: torch.save pads it so that they start
  /// at a multiple of 64.
  void find_bytes(Member& member, std::uint64_t limit) const {
    const std::string quoted = in_quotes(member.name);
    require(member.header <= limit && kLocalBytes <= limit - member.header, "has the member ",
            quoted, " outside of the file");
    const std::string header = source_.text_at(member.header, kLocalBytes);
    const std::size_t name = number<std::uint16_t>(header, 26);
    const std::uint64_t before = kLocalBytes + name + number<std::uint16_t>(header, 28);
    require(is_signed(header, "PK\3\4"), "has no header at the start of ", quoted);
    require(before <= limit - member.header && member.size <= limit - member.header - before,
            "has the member ", quoted, " of ", member.size,
            " bytes, which end outside of the file");
    require(source_.text_at(member.header + kLocalBytes, name) == member.name,
            "has different names for a member in its directory and its header: ", quoted);
    member.offset = member.header + before;
  }

  void check_overlap(std::vector<Member>& members) const {
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.header < b.header; });
    for (std::size_t i = 1; i < members.size(); ++i) {
      const Member &before = members[i - 1], &member = members[i];
      require(before.offset + before.size <= member.header, "has the member ",
              in_quotes(member.name), " inside of ", in_quotes(before.name));
    }
  }

  const ByteSource& source_;
  const std::string& context_;
};

}  // namespace

std::map<std::string, ZipMember> read_zip_directory(const ByteSource& source,
                                                    const std::string& context) {
  return ZipReader(source, context).read();
}

std::string read_member(const ByteSource& source, const ZipMember& member,
                        const std::string& context) {
  std::string bytes = source.text_at(member.offset, member.size);
  return member.is_deflated ? inflate(bytes, member.data_size, context) : bytes;
}

std::string read_member_start(const ByteSource& source, const ZipMember& member,
                              std::uint64_t count, const std::string& context) {
  if (member.is_deflated) return read_member(source, member, context);
  return source.text_at(member.offset, std::min(member.size, count));
}

}  // namespace fovea
