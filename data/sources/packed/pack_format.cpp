// Reads and writes the sections of a pack.
#include "data/sources/packed/pack_format.h"

#include <utility>

#include "engine/base/crc32c.h"
#include "engine/base/error.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"

namespace fovea::pack {
namespace {

constexpr std::string_view kMagic = "fovea-pk", kEndMagic = "fovea-ke";
constexpr std::uint64_t kHeaderBytes = 16, kTrailerSummed = 40;

template <class T>
void put_number(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
}

/// Reads numbers from the front of bytes whose length was checked.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T next() {
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(T); i > 0; --i)
      value = value << 8 | static_cast<unsigned char>(bytes_[i - 1]);
    bytes_.remove_prefix(sizeof(T));
    return static_cast<T>(value);
  }

 private:
  std::string_view bytes_;
};

struct Trailer {
  std::uint64_t index_offset = 0, count = 0, names_offset = 0, names_bytes = 0;
  std::uint32_t index_crc = 0, names_crc = 0;
};

Trailer read_trailer(const ByteSource& file, const std::string& name) {
  const bool has_room = file.size() >= kHeaderBytes + kTrailerBytes;
  const std::string head = has_room ? file.text_at(0, kHeaderBytes) : "";
  check(head.starts_with(kMagic), name, ": is not a packed data set");
  Numbers header(std::string_view(head).substr(kMagic.size()));
  const auto version = header.next<std::uint32_t>();
  check(version == kVersion, name, ": is a packed data set of version ", version, ", expected ",
        kVersion, "; ", program_call("pack"), " creates one");
  const std::string end = file.text_at(file.size() - kTrailerBytes, kTrailerBytes);
  const std::string_view tail = end;
  check(tail.ends_with(kEndMagic), name, ": its end is missing (was copying it interrupted?)");
  Numbers numbers(tail);
  Trailer trailer;
  trailer.index_offset = numbers.next<std::uint64_t>();
  trailer.count = numbers.next<std::uint64_t>();
  trailer.names_offset = numbers.next<std::uint64_t>();
  trailer.names_bytes = numbers.next<std::uint64_t>();
  trailer.index_crc = numbers.next<std::uint32_t>();
  trailer.names_crc = numbers.next<std::uint32_t>();
  check(numbers.next<std::uint32_t>() == crc32c(tail.substr(0, kTrailerSummed)), name,
        ": damaged: the checksum of its trailer is wrong");
  return trailer;
}

std::string part_of(const ByteSource& file, std::uint64_t offset, std::uint64_t size,
                    const std::string& context) {
  check(offset <= file.size() && size <= file.size() - offset, context, " is outside of the file");
  return file.text_at(offset, size);
}

ImageEntry read_entry(std::string_view bytes) {
  Numbers numbers(bytes);
  ImageEntry entry;
  entry.offset = numbers.next<std::uint64_t>();
  entry.length = numbers.next<std::uint64_t>();
  entry.width = numbers.next<std::uint32_t>();
  entry.height = numbers.next<std::uint32_t>();
  entry.label = numbers.next<std::uint32_t>();
  entry.crc = numbers.next<std::uint32_t>();
  entry.encoding = static_cast<Encoding>(numbers.next<std::uint32_t>());
  entry.turned = numbers.next<std::uint32_t>();
  return entry;
}

void check_entry(const ImageEntry& entry, std::uint64_t file_bytes, std::size_t classes,
                 const std::string& context) {
  check(entry.offset <= file_bytes && entry.length <= file_bytes - entry.offset, context,
        " is outside of the file");
  check(entry.label < classes, context, " has label ", entry.label, ", expected 0 to ",
        classes - 1);
  check(entry.width >= 1 && entry.height >= 1, context, " has a size of ", entry.width, " x ",
        entry.height);
  const bool file = entry.encoding == Encoding::file;
  check(file || entry.encoding == Encoding::rgb, context, " has the unknown encoding ",
        static_cast<std::uint32_t>(entry.encoding));
  const std::uint64_t area = std::uint64_t{entry.width} * entry.height;  // below 2^64
  check(file || (area <= file_bytes && area * 3 == entry.length), context, " has ", entry.length,
        " bytes, expected ", entry.width, " x ", entry.height, " x 3");
}

std::vector<std::string> split_lines(std::string_view text, const std::string& name) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    check(end != std::string_view::npos, name, ": damaged: its class names are cut off");
    lines.push_back(visible_text(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

Contents read_contents(const ByteSource& file, const std::string& name) {
  const Trailer trailer = read_trailer(file, name);
  check(trailer.count <= file.size() / kEntryBytes, name, ": damaged: it counts ", trailer.count,
        " images in ", file.size(), " bytes");
  const std::string index =
      part_of(file, trailer.index_offset, trailer.count * kEntryBytes, name + ": its index");
  const std::string names =
      part_of(file, trailer.names_offset, trailer.names_bytes, name + ": its list of classes");
  check(crc32c(index) == trailer.index_crc, name, ": damaged: the checksum of its index is wrong");
  check(crc32c(names) == trailer.names_crc, name,
        ": damaged: the checksum of its class names is wrong");
  Contents contents;
  contents.classes = split_lines(names, name);
  contents.entries.reserve(trailer.count);
  for (std::uint64_t i = 0; i < trailer.count; ++i) {
    contents.entries.push_back(
        read_entry(std::string_view(index).substr(i * kEntryBytes, kEntryBytes)));
    check_entry(contents.entries.back(), trailer.index_offset, contents.classes.size(),
                name + ": image " + std::to_string(i));
  }
  return contents;
}

Writer::Writer(Append append) : append_(std::move(append)) {
  std::string header(kMagic);
  put_number(header, kVersion);
  put_number(header, static_cast<std::uint32_t>(kAlignment));
  put(header);
}

void Writer::put(std::string_view bytes) {
  append_(bytes);
  written_ += bytes.size();
}

void Writer::add(const Blob& blob) {
  put(std::string((kAlignment - written_ % kAlignment) % kAlignment, '\0'));
  put_number(index_, written_);
  put_number(index_, std::uint64_t{blob.bytes.size()});
  put_number(index_, blob.width);
  put_number(index_, blob.height);
  put_number(index_, blob.label);
  put_number(index_, crc32c(blob.bytes));
  put_number(index_, static_cast<std::uint32_t>(blob.encoding));
  put_number(index_, std::uint32_t{blob.orientation == ExifOrientation::apply ? 1U : 0U});
  put(blob.bytes);
  ++count_;
}

void Writer::finish(const std::vector<std::string>& classes) {
  std::string names;
  for (const std::string& name : classes) {
    names += visible_text(name) + "\n";
  }
  std::string trailer;
  put_number(trailer, written_);
  put_number(trailer, count_);
  put(index_);
  put_number(trailer, written_);
  put_number(trailer, std::uint64_t{names.size()});
  put(names);
  put_number(trailer, crc32c(index_));
  put_number(trailer, crc32c(names));
  put_number(trailer, crc32c(trailer));
  put_number(trailer, std::uint32_t{0});
  trailer += kEndMagic;
  put(trailer);
}

}  // namespace fovea::pack
