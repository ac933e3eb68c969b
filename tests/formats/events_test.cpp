// TensorBoard's framing and messages, byte for byte. tests/interop/check_events.py asks
// TensorBoard.
#include "engine/formats/events.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "data/image.h"
#include "engine/base/crc32c.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace {

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// The messages of a file, every CRC checked.
std::vector<std::string> records_of(const std::filesystem::path& path) {
  std::string content = read_file(path);
  std::string_view rest = content;
  std::vector<std::string> records;
  while (!rest.empty()) {
    REQUIRE(rest.size() >= 16);
    const std::uint64_t length = little_endian(rest.substr(0, 8));
    REQUIRE(rest.size() >= 16 + length);
    CHECK(little_endian(rest.substr(8, 4)) == masked(rest.substr(0, 8)));
    CHECK(little_endian(rest.substr(12 + length, 4)) == masked(rest.substr(12, length)));
    records.emplace_back(rest.substr(12, length));
    rest.remove_prefix(16 + length);
  }
  return records;
}

}  // namespace

TEST_CASE("CRC-32C gives the published check values (RFC 3720, B.4)") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  CHECK(crc32c(ascending) == 0x46dd794eu);
}

TEST_CASE("a record is length, CRC, data, CRC") {
  const std::string record = event_record("123456789");
  REQUIRE(record.size() == 8 + 4 + 9 + 4);
  CHECK(record.substr(0, 8) == std::string("\x09\0\0\0\0\0\0\0", 8));
  CHECK(record.substr(12, 9) == "123456789");
  // ((0xe3069283 >> 15) | (0xe3069283 << 17)) + 0xa282ead8
  CHECK(little_endian(record.substr(21, 4)) == 0xc78ab0e5u);
}

TEST_CASE("a file starts with its version and then holds the values") {
  const TemporaryFolder folder;
  EventWriter writer(folder.path());
  CHECK(writer.path().filename().string().starts_with("events.out.tfevents."));
  writer.scalar("loss", 1.5, 300);
  writer.text("note", "hello", 1);
  writer.flush();

  const std::vector<std::string> records = records_of(writer.path());
  REQUIRE(records.size() == 3);
  CHECK(
      records[0].ends_with("\x1a\x0d"
                           "brain.Event:2"));  // field 3, 13 bytes
  // Event: field 1 (double, 9 bytes), then step 300 as a varint, then field 5, the summary.
  const std::string value = std::string("\x0a\x04loss\x15", 7) + std::string("\0\0\xc0\x3f", 4);
  CHECK(records[1].substr(9) == std::string("\x10\xac\x02\x2a\x0d\x0a\x0b", 7) + value);
  CHECK(contains(records[2], "\x42\x05hello"));
  CHECK(contains(records[2], "\x4a\x08\x0a\x06\x0a\x04text"));
}

TEST_CASE("an image carries its size, its channels and its bytes") {
  const TemporaryFolder folder;
  EventWriter writer(folder.path());
  const std::string png = encode_png(Image(3, 5));
  writer.image("picture", png, 0);
  writer.flush();
  const std::vector<std::string> records = records_of(writer.path());
  REQUIRE(records.size() == 2);
  CHECK(contains(records[1], std::string("\x08\x03\x10\x05\x18\x03\x22", 7)));
  CHECK(contains(records[1], png));
  CHECK(contains(message_of([&] { writer.image("x", "GIF89a", 0); }), "x is not a PNG file"));
}

TEST_CASE("a file of a run that goes on begins with a session start at its step") {
  const TemporaryFolder folder;
  EventWriter writer(folder.path(), 300);
  writer.scalar("loss", 1.5, 301);
  writer.flush();
  const std::vector<std::string> records = records_of(writer.path());
  REQUIRE(records.size() == 3);
  // Event: field 1 (double, 9 bytes), step 300 as a varint; then the version, and in the second
  // one field 7, a SessionLog whose field 1, the status, is START (1).
  CHECK(records[0].substr(9) == std::string("\x10\xac\x02\x1a\x0d", 5) + "brain.Event:2");
  CHECK(records[1].substr(9) == std::string("\x10\xac\x02\x3a\x02\x08\x01", 7));
}

TEST_CASE("a new file's name comes after those that are there, whatever the process is called") {
  const TemporaryFolder folder;
  const std::string later = "events.out.tfevents.4102444800.host.99999.0";
  write_file_atomically(folder / later, "");
  write_file_atomically(folder / "events.out.tfevents.x.host.1.0", "");
  const EventWriter first(folder.path()), second(folder.path());
  CHECK(first.path().filename().string() > later);
  CHECK(second.path().filename().string() > first.path().filename().string());
}

TEST_CASE("two writers of one folder use two files; a missing folder is an error") {
  const TemporaryFolder folder;
  const EventWriter first(folder.path()), second(folder.path());
  CHECK(first.path() != second.path());
  CHECK(contains(message_of([&] { const EventWriter none(folder / "none"); }),
                 "No such file or directory"));
}
