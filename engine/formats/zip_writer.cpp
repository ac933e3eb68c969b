// PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3. Times are those of numpy.savez, 1980-01-01, so that
// equal contents give equal files. While a resumed member is not complete, its header has in place
// of the checksum the number of units that have reached the disk: after a power failure, a file may
// be as long as it was and end in zeros.
#include "engine/formats/zip_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/base/crc32.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"

namespace fovea {
namespace {

constexpr std::uint32_t kInZip64Field = 0xffffffff;    // "see the zip64 field"
constexpr std::uint16_t kDate = (1 << 5) | 1;          // 1980-01-01
constexpr std::uint64_t kChecksumAt = 14;              // in a member's header
constexpr std::uint16_t kPlain = 20, kWithZip64 = 45;  // the version needed to read

template <class T>
void put(std::string& record, T value) {
  record.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// The zip64 field of these values; empty if there are none.
std::string wide_field(const std::vector<std::uint64_t>& values) {
  if (values.empty()) return {};
  std::string field;
  put<std::uint16_t>(field, 1);
  put(field, static_cast<std::uint16_t>(8 * values.size()));
  for (const std::uint64_t value : values) put(field, value);
  return field;
}

/// What a member's header and its entry in the directory share, from the version on. Members are
/// stored, so both sizes are equal.
std::string common_part(std::uint32_t crc, std::uint32_t size, std::size_t name,
                        std::size_t extra) {
  std::string record;
  put(record, extra == 0 ? kPlain : kWithZip64);
  put<std::uint32_t>(record, 0);  // no flags, stored
  put<std::uint16_t>(record, 0);  // midnight
  put(record, kDate);
  put(record, crc);
  put(record, size);
  put(record, size);
  put(record, static_cast<std::uint16_t>(name));
  put(record, static_cast<std::uint16_t>(extra));
  return record;
}

}  // namespace

ZipWriter::ZipWriter(const std::filesystem::path& path, Unfinished unfinished,
                     std::uint64_t wide_from)
    : context_(path.string()), wide_from_(wide_from), file_(path, unfinished) {}

std::uint32_t ZipWriter::narrow(std::uint64_t value) const {
  return is_wide(value) ? kInZip64Field : static_cast<std::uint32_t>(value);
}

void ZipWriter::open(const Member& member) {
  end_member();
  check(member.name.size() <= std::numeric_limits<std::uint16_t>::max(), context_,
        ": the name of a member ", "has ", member.name.size(), " bytes, expected at most 65535");
  members_.push_back(member);
  left_ = member.size;
  is_open_ = true;
}

void ZipWriter::begin(const std::string& name, std::uint64_t size) {
  open({name, size, file_.size()});
  file_.append(header_of(members_.back()));
}

std::uint64_t ZipWriter::resume(const Member& member, std::string_view head, std::uint64_t unit) {
  open({member.name, member.size});
  const std::string start = header_of(members_.back()) + std::string(head);
  left_ -= head.size();
  members_.back().crc = crc32(head);
  unit_ = unit;
  units_at_ = start.size();
  if (file_.size() < start.size()) {
    file_.truncate(0);
    file_.append(start);
    return 0;
  }
  const InputFile kept(file_.unfinished_path());
  std::string found = kept.text_at(0, start.size());
  // Or the checksum, of a process that was killed at the end, when all was on the disk.
  std::uint32_t committed = 0;
  std::memcpy(&committed, found.data() + kChecksumAt, sizeof committed);
  found.replace(kChecksumAt, 4, 4, '\0');
  check(found == start, file_.unfinished_path().string(),
        ": was begun for another file; remove it to begin anew");
  const std::uint64_t present = std::min(file_.size() - start.size(), left_) / unit;
  const std::uint64_t units = std::min<std::uint64_t>(present, committed);
  const std::uint64_t end = start.size() + units * unit;
  constexpr std::uint64_t kAtOnce = 1 << 20;
  for (std::uint64_t at = start.size(); at < end; at += kAtOnce) {
    members_.back().crc = crc32(kept.text_at(at, std::min(kAtOnce, end - at)), members_.back().crc);
  }
  file_.truncate(end);
  left_ -= units * unit;
  return units;
}

void ZipWriter::commit() {
  if (!is_open_ || unit_ == 0) return;
  file_.sync();
  std::string units;
  put(units, static_cast<std::uint32_t>((file_.size() - units_at_) / unit_));
  file_.write_at(members_.back().offset + kChecksumAt, units);
}

void ZipWriter::append(std::string_view bytes) {
  check(is_open_ && bytes.size() <= left_, context_, ": got ", bytes.size(),
        " bytes for a member that lacks ", left_);
  left_ -= bytes.size();
  members_.back().crc = crc32(bytes, members_.back().crc);
  file_.append(bytes);
}

/// Completes the last member's header.
void ZipWriter::end_member() {
  if (!is_open_) return;
  const Member& member = members_.back();
  check(left_ == 0, context_, ": the member ", in_quotes(member.name), " lacks ", left_, " of ",
        member.size, " bytes");
  if (unit_ > 0) file_.sync();  // before the checksum takes the place of the number of units
  std::string crc;
  put(crc, member.crc);
  file_.write_at(member.offset + kChecksumAt, crc);
  is_open_ = false;
  unit_ = 0;
}

std::string ZipWriter::header_of(const Member& member) const {
  const auto wide =
      is_wide(member.size) ? std::vector{member.size, member.size} : std::vector<std::uint64_t>();
  const std::string extra = wide_field(wide);
  return "PK\3\4" + common_part(member.crc, narrow(member.size), member.name.size(), extra.size()) +
         member.name + extra;
}

std::string ZipWriter::entry_of(const Member& member) const {
  std::vector<std::uint64_t> wide;
  if (is_wide(member.size)) wide = {member.size, member.size};
  if (is_wide(member.offset)) wide.push_back(member.offset);
  const std::string extra = wide_field(wide);
  std::string entry = "PK\1\2";
  put(entry, extra.empty() ? kPlain : kWithZip64);  // the version that made it
  entry += common_part(member.crc, narrow(member.size), member.name.size(), extra.size());
  entry.append(10, '\0');  // no comment, first disk, no attributes
  put(entry, narrow(member.offset));
  return entry + member.name + extra;
}

/// The records after the directory, which began at `start` and ends where the file ends.
std::string ZipWriter::end_records(std::uint64_t start) const {
  constexpr std::uint16_t kMax16 = std::numeric_limits<std::uint16_t>::max();
  const std::uint64_t end = file_.size(), count = members_.size();
  std::string records;
  if (count >= kMax16 || is_wide(start) || is_wide(end - start)) {
    records = "PK\6\6";
    put<std::uint64_t>(records, 44);  // the bytes of this record that follow
    put(records, kWithZip64);
    put(records, kWithZip64);
    put<std::uint64_t>(records, 0);  // first disk
    for (const std::uint64_t value : {count, count, end - start, start}) put(records, value);
    records += "PK\6\7";
    put<std::uint32_t>(records, 0);
    put(records, end);
    put<std::uint32_t>(records, 1);
  }
  records += "PK\5\6";
  put<std::uint32_t>(records, 0);
  const auto members = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, kMax16));
  put(records, members);
  put(records, members);
  put(records, narrow(end - start));
  put(records, narrow(start));
  put<std::uint16_t>(records, 0);  // no comment
  return records;
}

void ZipWriter::finish() {
  end_member();
  const std::uint64_t start = file_.size();
  for (const Member& member : members_) file_.append(entry_of(member));
  file_.append(end_records(start));
  file_.finish();
}

}  // namespace fovea
