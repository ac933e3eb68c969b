// GIF: the first frame on its canvas, as in Pillow's convert("RGB"). Every pixel has the palette
// colour of its index, even if transparent; the rest of the canvas has the transparent index, or
// 0.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/codecs/codec.h"
#include "engine/base/error.h"

namespace fovea::codec {
namespace {

using Bytes = std::span<const std::uint8_t>;
using Indices = std::vector<std::uint8_t>;

/// Sequential reading; throws Error at the end of the file.
class Reader {
 public:
  explicit Reader(const Source& source) : name_(source.name), rest_(source.bytes) {}

  Bytes take(std::size_t count) {
    require(count <= rest_.size(), "the data ends too early");
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::uint8_t byte() { return take(1).front(); }
  std::int64_t number() {
    const Bytes two = take(2);
    return two[0] | two[1] << 8;
  }
  /// A length byte and that many bytes; an empty block ends a sequence.
  Bytes block() { return take(byte()); }

  template <class... Parts>
  void require(bool ok, const Parts&... parts) const {
    check(ok, name_, ": damaged GIF: ", parts...);
  }

 private:
  const std::string& name_;
  Bytes rest_;
};

/// The colours of a file's table for the indices 0 to 255.
class Palette {
 public:
  /// The default palette: index k is gray (k, k, k).
  Palette() {
    for (std::size_t k = 0; k < colors_.size(); ++k) {
      colors_[k].fill(static_cast<std::uint8_t>(k));
    }
  }
  /// Indices beyond the table are black. A table that equals the first grays counts as no table.
  void read(Bytes table) {
    std::array<Color8, 256> colors{};
    bool is_gray = true;
    for (std::size_t i = 0; i < table.size(); ++i) {
      colors[i / 3][i % 3] = table[i];
      is_gray = is_gray && table[i] == i / 3;
    }
    if (!is_gray) colors_ = colors;
  }
  [[nodiscard]] const Color8& operator[](std::uint8_t index) const { return colors_[index]; }

 private:
  std::array<Color8, 256> colors_{};
};

/// Reads the table of 2 to 256 colours that `flags` announce.
void read_palette(Reader& reader, int flags, Palette& palette) {
  if ((flags & 0x80) != 0) palette.read(reader.take(std::size_t{3} << ((flags & 7) + 1)));
}

struct Frame {
  std::int64_t left = 0, top = 0;
  ImageSize size;
  bool interlaced = false;
  std::uint8_t background = 0;  ///< index for the uncovered canvas
};

/// Reads the extensions between the header and the first frame, and the frame header.
Frame read_frame(Reader& reader, Palette& palette) {
  constexpr int transparency = 0xF9;
  Frame frame;
  for (int kind = reader.byte(); kind != ','; kind = reader.byte()) {
    reader.require(kind != ';', "it has no frame");
    if (kind != '!') continue;
    const int extension = reader.byte();
    for (Bytes block = reader.block(); !block.empty(); block = reader.block()) {
      const bool says = extension == transparency && block.size() >= 4 && (block[0] & 1) != 0;
      if (says) frame.background = block[3];
    }
  }
  frame.left = reader.number();
  frame.top = reader.number();
  frame.size.width = reader.number();
  frame.size.height = reader.number();
  reader.require(frame.size.width > 0 && frame.size.height > 0, "its first frame has no pixels");
  const int flags = reader.byte();
  frame.interlaced = (flags & 0x40) != 0;
  read_palette(reader, flags, palette);
  return frame;
}

/// LZW codes, least significant bit first, stored in blocks.
class Codes {
 public:
  explicit Codes(Reader& reader) : reader_(reader) {}

  int next(int bits) {
    while (held_ < bits) {
      if (block_.empty()) block_ = reader_.block();
      reader_.require(!block_.empty(), "its pixels end too early");
      bits_ |= static_cast<std::uint32_t>(block_.front()) << held_;
      held_ += 8;
      block_ = block_.subspan(1);
    }
    const auto code = static_cast<int>(bits_ & ((1U << bits) - 1));
    bits_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  Reader& reader_;
  Bytes block_;
  std::uint32_t bits_ = 0;
  int held_ = 0;
};

/// The index sequence of each code: another code's sequence and one more index.
class CodeTable {
 public:
  explicit CodeTable(int bits) : bits_(bits) {
    for (int k = 0; k < clear(); ++k) {
      const auto index = static_cast<std::uint8_t>(k);
      entries_[static_cast<std::size_t>(k)] = {0, 1, index, index};
    }
    reset();
  }

  [[nodiscard]] int clear() const { return 1 << bits_; }
  [[nodiscard]] int end() const { return clear() + 1; }
  [[nodiscard]] int code_bits() const { return code_bits_; }
  [[nodiscard]] bool has(int code) const { return code < next_; }

  void reset() {
    next_ = end() + 1;
    code_bits_ = bits_ + 1;
  }
  /// Adds the sequence of `code` followed by the first index of `following`, which may be the new
  /// code itself.
  void add(int code, int following) {
    if (next_ == static_cast<int>(entries_.size())) return;
    const CodeEntry& begin = at(code);
    const std::uint8_t last = at(has(following) ? following : code).first;
    entries_[static_cast<std::size_t>(next_++)] = {static_cast<std::uint16_t>(code),
                                                   static_cast<std::uint16_t>(begin.length + 1),
                                                   begin.first, last};
    if (next_ == 1 << code_bits_ && code_bits_ < kMaxBits) ++code_bits_;
  }
  void append_to(Indices& indices, int code) const {
    indices.resize(indices.size() + at(code).length);
    auto place = indices.rbegin();
    for (int left = at(code).length; left > 0; --left) {
      *place++ = at(code).last;
      code = at(code).before;
    }
  }

 private:
  static constexpr int kMaxBits = 12;
  struct CodeEntry {
    std::uint16_t before, length;
    std::uint8_t first, last;
  };
  [[nodiscard]] const CodeEntry& at(int code) const {
    return entries_[static_cast<std::size_t>(code)];
  }

  int bits_, code_bits_ = 0, next_ = 0;
  std::array<CodeEntry, 1 << kMaxBits> entries_{};
};

/// The indices of the frame, row by row in file order.
Indices read_indices(Reader& reader, std::size_t count) {
  const int bits = reader.byte();
  reader.require(bits >= 1 && bits <= 8, "its indices have ", bits, " bits, expected 1 to 8");
  CodeTable table(bits);
  Codes codes(reader);
  Indices indices;
  indices.reserve(count);
  constexpr int none = -1;
  for (int previous = none; indices.size() < count;) {
    const int code = codes.next(table.code_bits());
    reader.require(code != table.end(), "its pixels end too early");
    if (code == table.clear()) {
      table.reset();
      previous = none;
      continue;
    }
    if (previous != none) table.add(previous, code);
    reader.require(table.has(code), "its pixels contain an undefined code");
    table.append_to(indices, code);
    previous = code;
  }
  return indices;
}

/// Maps the row order of the file to rows of the frame (interlacing).
std::vector<std::int64_t> order_of_rows(const Frame& frame) {
  struct Pass {
    std::int64_t first, step;
  };
  std::vector<Pass> passes = {{0, 1}};
  if (frame.interlaced) passes = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  std::vector<std::int64_t> rows;
  for (const Pass pass : passes) {
    for (std::int64_t y = pass.first; y < frame.size.height; y += pass.step) rows.push_back(y);
  }
  return rows;
}

}  // namespace

Image decode_gif(const Source& source) {
  Reader reader(source);
  const Bytes version = reader.take(6);
  reader.require(version[4] == '7' || version[4] == '9', "its version is neither 87a nor 89a");
  ImageSize canvas;
  canvas.width = reader.number();
  canvas.height = reader.number();
  const int flags = reader.byte();
  static_cast<void>(reader.take(2));  // the browser background, and the pixel aspect ratio
  Palette palette;
  read_palette(reader, flags, palette);
  const Frame frame = read_frame(reader, palette);
  canvas.width = std::max(canvas.width, frame.left + frame.size.width);
  canvas.height = std::max(canvas.height, frame.top + frame.size.height);
  check_size(source, static_cast<std::uint64_t>(canvas.height),
             static_cast<std::uint64_t>(canvas.width));
  constexpr std::int64_t most = 4096;  // pixels per code of at least 9 bits
  check_plausible(source, canvas, most);

  const auto width = static_cast<std::size_t>(frame.size.width);
  const Indices indices = read_indices(reader, width * static_cast<std::size_t>(frame.size.height));
  Image image(canvas.height, canvas.width);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = palette[frame.background][i % Image::kChannels];
  }
  auto index = indices.begin();
  for (const std::int64_t row : order_of_rows(frame)) {
    std::uint8_t* pixel = image.at(frame.top + row, frame.left);
    for (std::size_t x = 0; x < width; ++x, pixel += Image::kChannels) {
      std::copy_n(palette[*index++].data(), Image::kChannels, pixel);
    }
  }
  return image;
}

}  // namespace fovea::codec
