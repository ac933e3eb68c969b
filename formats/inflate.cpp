// Bits are read from the least significant one of each byte on. A block is stored as it is, or is a
// sequence of codes for single bytes and for copies of earlier bytes (length and distance).
#include "formats/inflate.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"

namespace fovea {
namespace {

constexpr int kMaxCodeBits = 15;

/// A Huffman code: codes of equal length are consecutive numbers, in the order of their symbols.
class Code {
 public:
  /// From each symbol's number of bits; 0 for symbols that do not occur. Returns false if there are
  /// more codes of a length than the length allows.
  bool assign(std::span<const std::uint8_t> lengths) {
    counts_.fill(0);
    for (const std::uint8_t length : lengths) ++counts_[length];
    counts_[0] = 0;
    std::array<int, kMaxCodeBits + 2> next{};
    int left = 1;
    for (int bits = 1; bits <= kMaxCodeBits; ++bits) {
      left = 2 * left - counts_[bits];
      if (left < 0) return false;
      next[bits + 1] = next[bits] + counts_[bits];
    }
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] == 0) continue;
      symbols_[static_cast<std::size_t>(next[lengths[symbol]]++)] =
          static_cast<std::uint16_t>(symbol);
    }
    return true;
  }

  /// Reads bits until they are a code; -1 if none begins like this.
  template <class ReadBit>
  int read(const ReadBit& bit) const {
    int code = 0, first = 0, index = 0;
    for (int bits = 1; bits <= kMaxCodeBits; ++bits) {
      code |= bit();
      const int count = counts_[bits];
      if (code - first < count) return symbols_[static_cast<std::size_t>(index + code - first)];
      index += count;
      first = 2 * (first + count);
      code *= 2;
    }
    return -1;
  }

 private:
  std::array<int, kMaxCodeBits + 1> counts_{};
  std::array<std::uint16_t, 288> symbols_{};
};

class Inflater {
 public:
  Inflater(std::string_view packed, std::uint64_t size, const std::string& where)
      : packed_(packed), size_(size), where_(where) {}

  std::string run() {
    for (bool last = false; !last;) {
      last = bits(1) == 1;
      switch (bits(2)) {
        case 0:
          copy_stored();
          break;
        case 1:
          use_fixed_codes();
          decode();
          break;
        case 2:
          read_codes();
          decode();
          break;
        default:
          require(false);
      }
    }
    check(data_.size() == size_, where_, ": decompresses to ", data_.size(), " bytes, expected ",
          size_);
    return std::move(data_);
  }

 private:
  void require(bool ok) const { check(ok, where_, ": its compressed data are damaged"); }

  int bits(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i) value |= bit() << i;
    return value;
  }

  int bit() {
    require(at_ / 8 < packed_.size());
    const int byte = static_cast<unsigned char>(packed_[at_ / 8]);
    return byte >> (at_++ % 8) & 1;
  }

  void require_room(std::size_t count) const {
    check(count <= size_ - data_.size(), where_, ": decompresses to more than the ", size_,
          " bytes that its directory lists");
  }

  void copy_stored() {
    at_ = (at_ + 7) / 8 * 8;
    const auto length = static_cast<std::size_t>(bits(16));
    require(bits(16) == (~static_cast<int>(length) & 0xffff));
    require(length <= packed_.size() - at_ / 8);
    require_room(length);
    data_ += packed_.substr(at_ / 8, length);
    at_ += 8 * length;
  }

  void use_fixed_codes() {
    std::array<std::uint8_t, 288> lengths{};
    std::fill(lengths.begin(), lengths.begin() + 144, std::uint8_t{8});
    std::fill(lengths.begin() + 144, lengths.begin() + 256, std::uint8_t{9});
    std::fill(lengths.begin() + 256, lengths.begin() + 280, std::uint8_t{7});
    std::fill(lengths.begin() + 280, lengths.end(), std::uint8_t{8});
    require(literals_.assign(lengths));
    std::array<std::uint8_t, 30> five{};
    five.fill(5);
    require(distances_.assign(five));
  }

  /// The codes' lengths are compressed too, by a code whose lengths come first.
  void read_codes() {
    constexpr std::array<std::uint8_t, 19> kOrder{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                  11, 4,  12, 3, 13, 2, 14, 1, 15};
    const auto literals = static_cast<std::size_t>(bits(5) + 257),
               distances = static_cast<std::size_t>(bits(5) + 1),
               given = static_cast<std::size_t>(bits(4) + 4);
    require(literals <= 286 && distances <= 30);
    std::array<std::uint8_t, 19> first{};
    for (std::size_t i = 0; i < given; ++i) first[kOrder[i]] = static_cast<std::uint8_t>(bits(3));
    Code code;
    require(code.assign(first));
    std::array<std::uint8_t, 286 + 30> lengths{};
    for (std::size_t i = 0; i < literals + distances;) {
      const int symbol = code.read([this] { return bit(); });
      require(symbol >= 0);
      if (symbol < 16) {
        lengths[i++] = static_cast<std::uint8_t>(symbol);
        continue;
      }
      require(symbol != 16 || i > 0);
      const std::uint8_t repeated = symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
      const int count = symbol == 16 ? 3 + bits(2) : symbol == 17 ? 3 + bits(3) : 11 + bits(7);
      require(static_cast<std::size_t>(count) <= literals + distances - i);
      for (int k = 0; k < count; ++k) lengths[i++] = repeated;
    }
    const std::span<const std::uint8_t> all(lengths);
    require(literals_.assign(all.first(literals)));
    require(distances_.assign(all.subspan(literals, distances)));
  }

  void decode() {
    constexpr int kEnd = 256;
    constexpr std::array<int, 29> kLengths{3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                           15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                           67, 83, 99, 115, 131, 163, 195, 227, 258};
    while (true) {
      const int symbol = literals_.read([this] { return bit(); });
      require(symbol >= 0);
      if (symbol == kEnd) return;
      if (symbol < kEnd) {
        require_room(1);
        data_ += static_cast<char>(symbol);
        continue;
      }
      const int length = symbol - kEnd - 1;
      require(length < std::ssize(kLengths));
      // Four codes share each number of further bits; the last code has none.
      const int further = length < 8 || length == 28 ? 0 : length / 4 - 1;
      copy(static_cast<std::size_t>(kLengths[static_cast<std::size_t>(length)] + bits(further)));
    }
  }

  void copy(std::size_t length) {
    const int symbol = distances_.read([this] { return bit(); });
    require(symbol >= 0 && symbol < 30);
    // 1, 2, 3, 4, then two codes for each number of further bits: 5, 7, 9, 13, 17, 25, ...
    const int further = symbol < 4 ? 0 : symbol / 2 - 1;
    const int start = symbol < 4 ? symbol + 1 : ((2 + symbol % 2) << further) + 1;
    const auto distance = static_cast<std::size_t>(start + bits(further));
    require(distance <= data_.size());
    require_room(length);
    for (std::size_t i = 0; i < length; ++i) data_ += data_[data_.size() - distance];
  }

  std::string_view packed_;
  std::uint64_t size_;
  const std::string& where_;
  std::uint64_t at_ = 0;  ///< number of bits that were read
  std::string data_;
  Code literals_, distances_;
};

}  // namespace

std::string inflate(std::string_view packed, std::uint64_t size, const std::string& where) {
  return Inflater(packed, size, where).run();
}

}  // namespace fovea
