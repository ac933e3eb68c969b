// Parses tar headers: blocks of 512 bytes with octal numbers.
#include "data/sources/packed/tar.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "engine/base/compressed.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 62;

/// A field of a header block.
struct HeaderField {
  std::size_t begin, size;
};
constexpr HeaderField kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 6},
    kPrefix{345, 155};
constexpr std::size_t kType = 156;

std::string_view field(std::string_view block, HeaderField place) {
  return block.substr(place.begin, place.size);
}

/// The text up to the first zero byte.
std::string text_until_zero(std::string_view bytes) {
  return std::string(bytes.substr(0, std::min(bytes.find('\0'), bytes.size())));
}

/// Values from extension headers that apply to the next member.
struct Overrides {
  std::string path;
  std::uint64_t size = 0;
  bool has_size = false;
};

class Reader {
 public:
  Reader(const ByteSource& bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::vector<TarMember> read() {
    check_plain();
    std::vector<TarMember> members;
    while (at_ < bytes_.size()) {
      check(bytes_.size() - at_ >= kBlock, name_, ": the tar file is cut off at byte ", at_);
      const std::string block = bytes_.text_at(at_, kBlock);
      if (block.find_first_not_of('\0') == std::string_view::npos) break;  // end of the archive
      check_block(block);
      at_ += kBlock;
      read_member(block, members);
    }
    return members;
  }

 private:
  /// Throws on a compressed file, with a message that says so.
  void check_plain() const {
    const std::string start = bytes_.text_at(0, std::min<std::uint64_t>(bytes_.size(), 16));
    const std::string compression = compression_of(start);
    check(compression.empty(), name_, ": ", compression, " to a plain tar file");
  }

  void read_member(std::string_view block, std::vector<TarMember>& members) {
    const char type = block[kType];
    const bool extends = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    const bool empty = type >= '1' && type <= '6';  // links, devices, folders
    const std::uint64_t stated =
        next_.has_size && !extends ? next_.size : number(field(block, kSize), "size");
    const std::uint64_t size = empty ? 0 : stated;
    check(size <= bytes_.size() - at_, name_, ": the member at byte ", at_ - kBlock, " has ", size,
          " bytes, but the file ends after ", bytes_.size() - at_);
    if (type == 'L' || type == 'x') read_extension(type, size);
    if (type == '0' || type == '\0' || type == '7')
      members.push_back({next_.path.empty() ? path_of(block) : next_.path, at_, size});
    if (!extends) next_ = {};
    const std::uint64_t blocks = (size + kBlock - 1) / kBlock;
    at_ += std::min<std::uint64_t>(blocks * kBlock, bytes_.size() - at_);
  }

  /// Reads an extension header, which describes the next member.
  void read_extension(char type, std::uint64_t size) {
    constexpr std::uint64_t kMax = 1 << 20;
    check(size <= kMax, name_, ": the extended tar header at byte ", at_ - kBlock, " has ", size,
          " bytes, expected at most ", kMax);
    const std::string content = bytes_.text_at(at_, size);
    if (type == 'L') next_.path = text_until_zero(content);
    if (type == 'x') read_pax(content);
  }

  static std::string path_of(std::string_view block) {
    const std::string path = text_until_zero(field(block, kName));
    const bool ustar = field(block, kMagic) == std::string_view("ustar\0", 6);  // not GNU's variant
    const std::string prefix = ustar ? text_until_zero(field(block, kPrefix)) : "";
    return prefix.empty() ? path : prefix + "/" + path;
  }

  /// Checks the sum of all bytes, with blanks in place of the checksum.
  void check_block(std::string_view block) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const bool own = i >= kChecksum.begin && i < kChecksum.begin + kChecksum.size;
      sum += own ? ' ' : static_cast<unsigned char>(block[i]);
    }
    check(number(field(block, kChecksum), "checksum") == sum, name_, ": no tar header at byte ",
          at_, ": its checksum is wrong");
  }

  /// Parses octal digits between blanks, or GNU's big-endian bytes if the top bit is set.
  [[nodiscard]] std::uint64_t number(std::string_view digits, const char* what) const {
    std::uint64_t value = 0;
    const auto first = static_cast<unsigned char>(digits.front());
    const bool binary = (first & 0x80) != 0;
    bool ok = !binary || (first & 0x7F) == 0;  // no sign, at most eight bytes
    std::size_t i = binary ? 1 : std::min(digits.find_first_not_of(' '), digits.size());
    for (; i < digits.size(); ++i) {
      const auto c = static_cast<unsigned char>(digits[i]);
      if (!binary && (c == ' ' || c == '\0')) break;
      ok = ok && value < kMaxNumber / 256 && (binary || (c >= '0' && c <= '7'));
      value = binary ? value << 8 | c : value << 3 | (c & 7);
    }
    check(ok, name_, ": the tar header at byte ", at_, " has a ", what, " that is not a number");
    return value;
  }

  /// Parses records "LENGTH KEY=VALUE\n"; LENGTH counts the whole record.
  void read_pax(std::string_view text) {
    while (!text.empty() && text.front() != '\0') {
      std::size_t length = 0;
      const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<std::size_t>(rest - text.data());
      check(error == std::errc() && length > digits + 1 && length <= text.size() &&
                text[digits] == ' ' && text[length - 1] == '\n',
            name_, ": the extended tar header before byte ", at_, " is damaged");
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      const std::size_t equals = std::min(record.find('='), record.size());
      take_pax(record.substr(0, equals), record.substr(std::min(equals + 1, record.size())));
      text.remove_prefix(length);
    }
  }

  void take_pax(std::string_view key, std::string_view value) {
    if (key == "path") next_.path = std::string(value);
    if (key != "size") return;
    const std::optional<std::int64_t> size = parse_integer(value);
    check(size && *size >= 0 && static_cast<std::uint64_t>(*size) < kMaxNumber, name_,
          ": the extended tar header before byte ", at_, " has the size \"", value, "\"");
    next_.size = static_cast<std::uint64_t>(*size);
    next_.has_size = true;
  }

  const ByteSource& bytes_;
  const std::string& name_;
  std::uint64_t at_ = 0;
  Overrides next_;
};

/// The text in the first braces, and the texts before and after it.
struct Braces {
  std::string before, inside, after;
};

Braces split_braces(const std::string& pattern, std::size_t open) {
  const std::size_t close = pattern.find('}', open);
  check(close != std::string::npos, "\"", pattern, "\": unclosed brace");
  return {pattern.substr(0, open), pattern.substr(open + 1, close - open - 1),
          pattern.substr(close + 1)};
}

constexpr std::int64_t kMaxNames = 1'000'000;

/// Expands "000..012"; numbers have equal width if the first starts with 0.
std::vector<std::string> expand_range(const std::string& inside) {
  const std::size_t dots = inside.find("..");
  const std::string low = inside.substr(0, dots), high = inside.substr(dots + 2);
  const std::int64_t first = parse_integer(low).value_or(-1),
                     last = parse_integer(high).value_or(-1);
  check(first >= 0 && first <= last && last - first < kMaxNames, "\"{", inside,
        "}\": expected two numbers, the smaller first, and at most a million names");
  std::vector<std::string> names;
  const bool padded = low.size() > 1 && low.front() == '0';
  for (std::int64_t i = first; i <= last; ++i) {
    std::string digits = std::to_string(i);
    if (padded && digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
    names.push_back(std::move(digits));
  }
  return names;
}

std::vector<std::string> expand_list(const std::string& inside) {
  std::vector<std::string> names(1);
  for (const char c : inside) {
    if (c == ',')
      names.emplace_back();
    else
      names.back() += c;
  }
  return names;
}

}  // namespace

std::vector<TarMember> index_tar(const ByteSource& bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

std::vector<std::string> shard_names(const std::string& pattern) {
  const std::size_t open = pattern.find('{');
  if (open == std::string::npos) return {pattern};
  const Braces braces = split_braces(pattern, open);
  const bool range = braces.inside.find("..") != std::string::npos;
  const auto middles = range ? expand_range(braces.inside) : expand_list(braces.inside);
  const std::vector<std::string> ends = shard_names(braces.after);
  check(middles.size() * ends.size() <= kMaxNames, "\"", pattern,
        "\": expands to more than a million names");
  std::vector<std::string> names;
  for (const std::string& middle : middles)
    for (const std::string& end : ends)
      names.push_back(std::string(braces.before).append(middle).append(end));
  return names;
}

}  // namespace fovea
