// Decompression by zlib.
#include "engine/formats/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "engine/base/error.h"

namespace fovea {
namespace {

enum class StreamForm {
  raw = -MAX_WBITS,  ///< deflate alone
  zlib = MAX_WBITS   ///< with zlib's header and checksum
};

class Inflater {
 public:
  explicit Inflater(StreamForm form) {
    check(inflateInit2(&stream_, static_cast<int>(form)) == Z_OK, "zlib: out of memory");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  struct Result {
    std::size_t written;  ///< bytes at the front of the output
    bool ended;           ///< whether the compressed data end there
    bool damaged;         ///< whether they break a rule of the format
  };

  /// Decompresses into `out`, which keeps its size. zlib counts in 32 bits, so long data pass in
  /// pieces.
  Result run(std::string_view packed, std::string& out) {
    constexpr std::size_t kPiece = std::numeric_limits<uInt>::max();
    std::size_t read = 0, written = 0;
    int status = Z_OK;
    while (status == Z_OK) {
      const std::size_t in = std::min(packed.size() - read, kPiece);
      const std::size_t room = std::min(out.size() - written, kPiece);
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-*): zlib reads bytes that it does not change.
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data() + read));
      stream_.avail_in = static_cast<uInt>(in);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + written);
      stream_.avail_out = static_cast<uInt>(room);
      status = ::inflate(&stream_, Z_NO_FLUSH);
      read += in - stream_.avail_in;
      written += room - stream_.avail_out;
    }
    return {written, status == Z_STREAM_END, status != Z_STREAM_END && status != Z_BUF_ERROR};
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::string inflate(std::string_view packed, std::uint64_t size, const std::string& context) {
  // One byte more than stated, so that longer data are noticed. Deflate packs 1032 to 1 at most.
  check(size / 1032 <= packed.size(), context, ": its compressed data are damaged: ", packed.size(),
        " bytes cannot be the compressed form of ", size);
  std::string data(size + 1, '\0');
  const auto [written, ended, damaged] = Inflater(StreamForm::raw).run(packed, data);
  check(written <= size, context, ": decompresses to more than the ", size, " bytes expected");
  check(ended && !damaged, context, ": its compressed data are damaged");
  check(written == size, context, ": decompresses to ", written, " bytes, expected ", size);
  data.resize(size);
  return data;
}

std::string inflate_start(std::string_view packed, std::uint64_t count,
                          const std::string& context) {
  std::string data(count, '\0');
  const auto [written, ended, damaged] = Inflater(StreamForm::zlib).run(packed, data);
  check(!damaged && (ended || written == count), context, ": its compressed data are damaged");
  data.resize(written);
  return data;
}

}  // namespace fovea
