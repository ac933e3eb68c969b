// Protobuf's wire format, without schemas: a message is a sequence of fields, each a number and a
// value. Who writes or reads a message knows what its numbers mean.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea {

/// The bytes of an unsigned integer, lowest first.
template <std::unsigned_integral T>
[[nodiscard]] std::string little_endian(T value) {
  std::string bytes(sizeof(T), '\0');
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[i] = static_cast<char>((value >> (8 * i)) & 0xff);
  }
  return bytes;
}

/// A message under construction. Fields keep the order in which they are added.
class ProtoMessage {
 public:
  template <std::integral I>
  ProtoMessage& integer(int field, I value) {
    return key(field, 0).varint(static_cast<std::uint64_t>(value));
  }
  ProtoMessage& real(int field, double value);
  ProtoMessage& real(int field, float value);
  ProtoMessage& bytes(int field, std::string_view value);
  ProtoMessage& message(int field, const ProtoMessage& value) {
    return bytes(field, value.encoded_);
  }
  /// Begins a field whose `size` bytes are written elsewhere, right after this message.
  ProtoMessage& open(int field, std::uint64_t size);

  [[nodiscard]] const std::string& encoded() const { return encoded_; }

 private:
  ProtoMessage& key(int field, std::uint64_t wire_type);
  ProtoMessage& varint(std::uint64_t value);

  std::string encoded_;
};

/// A field of an encoded message.
struct ProtoField {
  int number = 0;
  std::uint64_t integer = 0;  ///< a varint, or the bits of a fixed number
  std::string_view bytes;     ///< of a string, a message or packed numbers

  [[nodiscard]] std::int64_t as_signed() const { return static_cast<std::int64_t>(integer); }
  [[nodiscard]] float as_float() const;
};

/// Reads the fields of a message one after another. The bytes must outlive it.
class ProtoReader {
 public:
  /// `what` names the message in errors.
  ProtoReader(std::string_view encoded, std::string what)
      : rest_(encoded), what_(std::move(what)) {}

  /// The next field; empty at the end. Throws on a message that is cut off or damaged.
  [[nodiscard]] std::optional<ProtoField> next();

 private:
  [[nodiscard]] std::uint64_t varint();
  [[nodiscard]] std::uint64_t fixed(std::size_t bytes);
  [[nodiscard]] std::string_view take(std::uint64_t count);

  std::string_view rest_;
  std::string what_;
};

/// The integers of a repeated field: one of them, or all packed into its bytes.
void add_integers(const ProtoField& field, std::vector<std::int64_t>& values);

}  // namespace fovea
