// The instructions of a pickle, read byte by byte. Private to engine/formats/torch/.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace fovea {

/// Reads never pass the end. Errors name the file and the byte where the instruction starts.
class PickleCode {
 public:
  /// Both must outlive the reader.
  PickleCode(std::string_view bytes, const std::string& context)
      : bytes_(bytes), context_(context) {}

  void begin_instruction() { start_ = position_; }
  [[nodiscard]] std::size_t start() const { return start_; }  ///< of the current instruction
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - position_; }
  [[nodiscard]] const std::string& context() const { return context_; }

  /// Throws Error unless `ok`.
  template <class... Parts>
  void require(bool ok, const Parts&... parts) const {
    if (!ok) fail(context_, ": the pickle ", parts..., " (at byte ", start_, ")");
  }

  std::string take(std::uint64_t count) {
    require(count <= left(), "is truncated: ", count, " bytes expected, ", left(), " follow");
    position_ += count;
    return std::string(bytes_.substr(position_ - count, count));
  }

  /// A number, little-endian.
  template <class T>
  T read() {
    require(sizeof(T) <= left(), "is truncated");
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  /// A name that a line feed ends.
  std::string line() {
    const std::size_t end = bytes_.find('\n', position_);
    require(end != std::string_view::npos, "is truncated in a name");
    std::string text(bytes_.substr(position_, end - position_));
    position_ = end + 1;
    return text;
  }

 private:
  std::string_view bytes_;
  const std::string& context_;
  std::size_t position_ = 0, start_ = 0;
};

}  // namespace fovea
