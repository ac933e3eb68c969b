// Protobuf's wire format, by the examples of its documentation.
#include "engine/formats/protobuf.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/errors.h"

using namespace fovea;

TEST_CASE("fields are written as in protobuf's documentation") {
  CHECK(ProtoMessage().integer(1, 150).encoded() == "\x08\x96\x01");
  CHECK(ProtoMessage().bytes(2, "testing").encoded() == "\x12\x07testing");
  CHECK(ProtoMessage().message(3, ProtoMessage().integer(1, 150)).encoded() ==
        "\x1a\x03\x08\x96\x01");
  CHECK(ProtoMessage().integer(1, -2).encoded() == "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  CHECK(ProtoMessage().real(1, 1.5F).encoded() == std::string("\x0d\0\0\xc0\x3f", 5));
  CHECK(ProtoMessage().open(5, 300).encoded() == "\x2a\xac\x02");
}

TEST_CASE("a reader gives back every field") {
  const ProtoMessage inner = ProtoMessage().integer(1, 7);
  const std::string text = ProtoMessage()
                               .integer(1, -2)
                               .real(2, 0.25F)
                               .bytes(3, "abc")
                               .message(16, inner)
                               .real(4, 0.5)
                               .encoded();
  ProtoReader reader(text, "x");
  auto field = reader.next();
  CHECK(field->number == 1);
  CHECK(field->as_signed() == -2);
  field = reader.next();
  CHECK(field->number == 2);
  CHECK(field->as_float() == 0.25F);
  CHECK(reader.next()->bytes == "abc");
  field = reader.next();
  CHECK(field->number == 16);
  CHECK(field->bytes == inner.encoded());
  CHECK(reader.next()->integer == 0x3fe0000000000000u);
  CHECK(!reader.next());
}

TEST_CASE("repeated integers are read one by one and packed") {
  std::vector<std::int64_t> values;
  const std::string text =
      ProtoMessage().integer(1, 3).bytes(1, "\x05\x96\x01").integer(1, 0).encoded();
  ProtoReader reader(text, "x");
  while (const auto field = reader.next()) add_integers(*field, values);
  CHECK(values == std::vector<std::int64_t>{3, 5, 150, 0});
}

TEST_CASE("a damaged message is an error that names it") {
  const auto read = [](const std::string& text) { (void)ProtoReader(text, "model.onnx").next(); };
  tests::check_error([&] { read("\x12\x07test"); }, "model.onnx: is cut off: a field of 7 bytes");
  tests::check_error([&] { read("\x08\x96"); }, "model.onnx: is cut off");
  tests::check_error([&] { read("\x0b"); }, "field 1 has wire type 3");
  tests::check_error([&] { read("\x08" + std::string(10, '\xff')); }, "more than ten bytes");
}
