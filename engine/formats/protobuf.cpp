// FORMAT: a field is a varint (number << 3 | wire type) and its value: type 0 a varint, 1 eight
// bytes, 2 a varint length and that many bytes, 5 four bytes. A varint has seven bits a byte, the
// lowest first; the top bit says that another byte follows. Fixed numbers are little-endian.
#include "engine/formats/protobuf.h"

#include <bit>

#include "engine/base/error.h"

namespace fovea {
ProtoMessage& ProtoMessage::key(int field, std::uint64_t wire_type) {
  return varint((static_cast<std::uint64_t>(field) << 3) | wire_type);
}

ProtoMessage& ProtoMessage::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) encoded_ += static_cast<char>(value | 0x80);
  encoded_ += static_cast<char>(value);
  return *this;
}

ProtoMessage& ProtoMessage::real(int field, double value) {
  key(field, 1).encoded_ += little_endian(std::bit_cast<std::uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::real(int field, float value) {
  key(field, 5).encoded_ += little_endian(std::bit_cast<std::uint32_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::bytes(int field, std::string_view value) {
  open(field, value.size()).encoded_ += value;
  return *this;
}

ProtoMessage& ProtoMessage::open(int field, std::uint64_t size) {
  return key(field, 2).varint(size);
}

float ProtoField::as_float() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(integer));
}

std::optional<ProtoField> ProtoReader::next() {
  if (rest_.empty()) return {};
  const std::uint64_t key = varint();
  ProtoField field;
  field.number = static_cast<int>(key >> 3);
  switch (key & 7) {
    case 0:
      field.integer = varint();
      return field;
    case 1:
      field.integer = fixed(8);
      return field;
    case 2:
      field.bytes = take(varint());
      return field;
    case 5:
      field.integer = fixed(4);
      return field;
    default:
      fail(what_, ": field ", field.number, " has wire type ", key & 7, ", expected 0, 1, 2 or 5");
  }
}

std::uint64_t ProtoReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1).front());
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail(what_, ": has a number of more than ten bytes");
}

std::uint64_t ProtoReader::fixed(std::size_t bytes) {
  const std::string_view text = take(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i > 0; --i) {
    value = (value << 8) | static_cast<unsigned char>(text[i - 1]);
  }
  return value;
}

std::string_view ProtoReader::take(std::uint64_t count) {
  check(count <= rest_.size(), what_, ": is cut off: a field of ", count, " bytes, but ",
        rest_.size(), " are left");
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

void add_integers(const ProtoField& field, std::vector<std::int64_t>& values) {
  if (field.bytes.empty()) {
    values.push_back(field.as_signed());
    return;
  }
  // Packed varints, one after another.
  std::uint64_t value = 0;
  int shift = 0;
  for (const char c : field.bytes) {
    const auto byte = static_cast<unsigned char>(c);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    shift += 7;
    if (byte >= 0x80 && shift < 64) continue;
    values.push_back(static_cast<std::int64_t>(value));
    value = 0;
    shift = 0;
  }
}

}  // namespace fovea
