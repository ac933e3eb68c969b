// The safetensors format: round trips, conversions, the bytes of a file, and hostile files.
#include "engine/formats/safetensors.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

using namespace fovea;

namespace {

std::string with_length(const std::string& json, const std::string& data = "") {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((json.size() >> (8 * i)) & 0xff);
  return bytes + json + data;
}

/// A file with the one tensor "x".
std::string one_tensor(const std::string& dtype, const std::string& shape,
                       const std::string& offsets, const std::string& data) {
  return with_length(R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape +
                         R"(,"data_offsets":)" + offsets + "}}",
                     data);
}

Tensor read_one(const std::string& dtype, const std::string& data, std::size_t size) {
  const std::string shape = "[" + std::to_string(data.size() / size) + "]";
  const std::string offsets = "[0," + std::to_string(data.size()) + "]";
  return parse_safetensors(one_tensor(dtype, shape, offsets, data), "file").tensors.at("x");
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

}  // namespace

TEST_CASE("every dtype, shape and stride comes back") {
  const TemporaryFolder folder;
  std::map<std::string, Tensor> tensors;
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i64, DType::u8}) {
    const std::string name(to_string(dtype));
    const Tensor x = from_values({2, 3}, {0, 1, 2, 3, 4, 250}, {dtype, {}});
    tensors[name] = x;
    tensors[name + ".transposed"] = x.alias({3, 2}, {1, 3});
    tensors[name + ".repeated"] = x.alias({4, 3}, {0, 1}, 3);
    tensors[name + ".scalar"] = scalar(7, {dtype, {}});
    tensors[name + ".empty"] = empty({2, 0, 3}, {dtype, {}});
    tensors[name + ".rank6"] = x.alias({1, 2, 1, 3, 1, 1}, {6, 3, 3, 1, 1, 1});
  }
  tensors["with \"quotes\", \\ and \u00e9"] = scalar(1);
  write_safetensors(folder / "f", tensors, {{"epoch", "3"}, {"note", "line\nbreak"}});

  const SafetensorsFile file = read_safetensors(folder / "f");
  CHECK(file.metadata == std::map<std::string, std::string>{
                             {"epoch", "3"}, {"format", "pt"}, {"note", "line\nbreak"}});
  REQUIRE(file.tensors.size() == tensors.size());
  for (const auto& entry : tensors) {
    CAPTURE(entry.first);
    const Tensor& expected = entry.second;
    const Tensor& got = file.tensors.at(entry.first);
    CHECK(got.dtype() == expected.dtype());
    CHECK(got.shape() == expected.shape());
    CHECK(got.to_vector() == expected.to_vector());
  }
  CHECK(list_safetensors(folder / "f").entries.size() == tensors.size());
}

TEST_CASE("special values keep their bits") {
  const TemporaryFolder folder;
  const Tensor x = from_bytes({4}, DType::f32,
                              std::as_bytes(std::span<const std::uint32_t>(
                                  {0x7fc12345u, 0xff800000u, 0x80000000u, 0x00000001u})));
  write_safetensors(folder / "f", {{"x", x}});
  const Tensor y = read_safetensors(folder / "f").tensors.at("x");
  CHECK(std::equal(x.raw(), x.raw() + 16, y.raw()));
}

TEST_CASE("the bytes of a file are those of the reference writer") {
  const TemporaryFolder folder;
  write_safetensors(folder / "f", {{"b", from_values({2}, {1, 2}, {DType::u8, {}})},
                                   {"c", scalar(5, {DType::i64, {}})},
                                   {"a", from_values({1, 1}, {1.5})}});
  std::string json = R"({"__metadata__":{"format":"pt"},)"
                     R"("c":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                     R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[8,12]},)"
                     R"("b":{"dtype":"U8","shape":[2],"data_offsets":[12,14]}})";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  CHECK(read_file(folder / "f") ==
        with_length(json, bytes_of<std::int64_t>({5}) + bytes_of<float>({1.5F}) + "\x01\x02"));
}

TEST_CASE("foreign dtypes are converted") {
  const Tensor half = read_one(
      "F16",
      bytes_of<std::uint16_t>({0x3c00, 0xc000, 0x0001, 0x8000, 0x7bff, 0x7c00, 0x7e00, 0x03ff}), 2);
  CHECK(half.dtype() == DType::f32);
  CHECK(half.at(0) == 1.0);
  CHECK(half.at(1) == -2.0);
  CHECK(half.at(2) == 0x1p-24);
  CHECK(std::signbit(half.at(3)));
  CHECK(half.at(4) == 65504.0);
  CHECK(half.at(5) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(half.at(6)));
  CHECK(half.at(7) == 1023 * 0x1p-24);
  const Tensor small = read_one("F8_E4M3", "\x38\xb9\x01\x08\x7e\x7f\x80", 1);
  CHECK(small.dtype() == DType::f32);
  CHECK(small.at(0) == 1);
  CHECK(small.at(1) == -1.125);
  CHECK(small.at(2) == 0x1p-9);  // the smallest subnormal
  CHECK(small.at(3) == 0x1p-6);  // the smallest normal number
  CHECK(small.at(4) == 448);     // the largest
  CHECK(std::isnan(small.at(5)));
  CHECK(std::signbit(small.at(6)));
  const Tensor wide = read_one("F8_E5M2", "\x3c\xbd\x01\x7b\x7c\x7e", 1);
  CHECK(wide.at(0) == 1);
  CHECK(wide.at(1) == -1.25);
  CHECK(wide.at(2) == 0x1p-16);
  CHECK(wide.at(3) == 57344);
  CHECK(wide.at(4) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(wide.at(5)));

  CHECK(read_one("BOOL", std::string("\x00\x01\x07", 3), 1).to_vector() == Values{0, 1, 1});
  CHECK(read_one("I8", "\x80\x7f", 1).to_vector() == Values{-128, 127});
  CHECK(read_one("I16", bytes_of<std::int16_t>({-32768, 5}), 2).to_vector() == Values{-32768, 5});
  CHECK(read_one("U16", bytes_of<std::uint16_t>({65535}), 2).to_vector() == Values{65535});
  CHECK(read_one("I32", bytes_of<std::int32_t>({-5}), 4).to_vector() == Values{-5});
  CHECK(read_one("U32", bytes_of<std::uint32_t>({4294967295u}), 4).to_vector() ==
        Values{4294967295.0});
  CHECK(read_one("U64", bytes_of<std::uint64_t>({9}), 8).to_vector() == Values{9});
  CHECK(read_one("BOOL", "\x01", 1).dtype() == DType::u8);
  for (const auto& [name, size] : std::map<std::string, std::size_t>{
           {"I8", 1}, {"I16", 2}, {"U16", 2}, {"I32", 4}, {"U32", 4}, {"U64", 8}}) {
    CHECK(read_one(name, std::string(size, '\0'), size).dtype() == DType::i64);
  }
}

TEST_CASE("headers may be padded, empty, and their data may lie in any order, unaligned") {
  CHECK(parse_safetensors(with_length("{}"), "file").tensors.empty());
  CHECK(parse_safetensors(with_length("{}   \n"), "file").tensors.empty());
  CHECK(parse_safetensors(with_length(R"({"__metadata__":{}})"), "file").metadata.empty());
  CHECK(parse_safetensors(with_length(R"({"__metadata__":null})"), "file").metadata.empty());
  const SafetensorsFile file =
      parse_safetensors(with_length(R"({"z":{"dtype":"F32","shape":[1],"data_offsets":[1,5]},)"
                                    R"("e":{"dtype":"F32","shape":[0],"data_offsets":[1,1]},)"
                                    R"("a":{"data_offsets":[0,1],"shape":[1],"dtype":"U8"}})",
                                    "\x03" + bytes_of<float>({2.5F})),
                        "file");
  CHECK(file.tensors.at("z").item() == 2.5);
  CHECK(file.tensors.at("a").item() == 3);
  CHECK(file.tensors.at("e").numel() == 0);
}

namespace {

struct Hostile {
  std::string what, bytes, message;
};

std::string deep(const std::string& open, std::size_t levels) {
  std::string json = R"({"x":)";
  for (std::size_t i = 0; i < levels; ++i) json += open;
  return json;
}

const std::string kEntry = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";

std::vector<Hostile> hostile_headers() {
  return {
      {"an empty file", "", "is empty (0 bytes)"},
      {"seven bytes", "1234567", "is a text, not weights"},
      {"length 2^64 - 1", std::string(8, '\xff') + "{}", "expected at most 100000000"},
      {"length 100000001", std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10), "100000001 bytes"},
      {"length past the end", std::string("\x03\0\0\0\0\0\0\0{}", 10), "but 2 follow"},
      {"length 0", with_length(""), "does not start with '{'"},
      {"no object", with_length("[]"), "does not start with '{'"},
      {"a blank first", with_length(" {}"), "does not start with '{'"},
      {"cut off", with_length(R"({"x":)"), "not UTF-8 JSON"},
      {"text after the end", with_length("{} x"), "not UTF-8 JSON"},
      {"a comment", with_length("{/**/}"), "not UTF-8 JSON"},
      {"a trailing comma", with_length(R"({"x":)" + kEntry + ",}", "a"), "not UTF-8 JSON"},
      {"NUL bytes", with_length(std::string("{\0}", 3)), "not UTF-8 JSON"},
      {"a name that is not UTF-8", with_length("{\"\xff\":" + kEntry + "}", "a"), "UTF-8 JSON"},
      {"an overlong UTF-8 form", with_length("{\"\xc0\x80\":" + kEntry + "}", "a"), "UTF-8 JSON"},
      {"half a surrogate pair", with_length(R"({"\ud800":)" + kEntry + "}", "a"), "UTF-8 JSON"},
      {"deep arrays", with_length(deep("[", 1000000)), "has an array as its value"},
      {"deep objects", with_length(deep("{\"a\":", 1000000)), "has the unknown key \"a\""},
      {"a deep shape", with_length(deep(R"({"shape":[[)", 1)), "has an array in \"shape\""},
      {"a name twice", with_length(R"({"x":)" + kEntry + R"(,"x":)" + kEntry + "}", "a"),
       "the name \"x\" appears twice"},
      {"a name twice, once escaped",
       with_length(R"({"x":)" + kEntry + R"(,"\u0078":)" + kEntry + "}", "a"),
       "the name \"x\" appears twice"},
      {"metadata twice", with_length(R"({"__metadata__":{},"__metadata__":{}})"), "appears twice"},
      {"a metadata key twice", with_length(R"({"__metadata__":{"a":"1","a":"2"}})"), "twice"},
      {"metadata that is no text", with_length(R"({"__metadata__":{"a":1}})"),
       "\"__metadata__\" has a number in \"a\""},
      {"metadata that is nested", with_length(R"({"__metadata__":{"a":{}}})"), "has an object"},
      {"a tensor null", with_length(R"({"x":null})"), "has null as its value"},
      {"a tensor that is text", with_length(R"({"x":"F32"})"), "has a string as its value"},
  };
}

std::vector<Hostile> hostile_entries() {
  const auto entry = [](const std::string& fields) {
    return with_length(R"({"x":{)" + fields + "}}");
  };
  const std::string huge = "1152921504606846976";  // 2^60
  return {
      {"no dtype", entry(R"("shape":[],"data_offsets":[0,0])"), "has no \"dtype\""},
      {"no shape", entry(R"("dtype":"U8","data_offsets":[0,0])"), "has no \"shape\""},
      {"no offsets", entry(R"("dtype":"U8","shape":[])"), "has no \"data_offsets\""},
      {"a field twice", entry(R"("dtype":"U8","dtype":"U8")"), "has the key \"dtype\" twice"},
      {"an unknown field", entry(R"("strides":[])"), "has the unknown key \"strides\""},
      {"an unknown dtype", one_tensor("F31", "[1]", "[0,4]", "abcd"), "has dtype \"F31\""},
      {"a number as dtype", entry(R"("dtype":5)"), "has a number in \"dtype\""},
      {"an array as dtype", entry(R"("dtype":["U8"])"), "has an array in \"dtype\""},
      {"text as shape", entry(R"("shape":"[1]")"), "has a string in \"shape\""},
      {"text in a shape", entry(R"("shape":["1"])"), "has a string in \"shape\""},
      {"true in a shape", entry(R"("shape":[true])"), "has true or false in \"shape\""},
      {"a negative size", one_tensor("U8", "[-1]", "[0,1]", "a"), "has a negative number"},
      {"a fraction as size", one_tensor("U8", "[1.0]", "[0,1]", "a"), "not a 64-bit integer"},
      {"a size of 2^63", one_tensor("U8", "[9223372036854775808]", "[0,1]", "a"), "has a size of"},
      {"a size of 10^30", one_tensor("U8", "[1" + std::string(30, '0') + "]", "[0,1]", "a"),
       "not a 64-bit integer"},
      {"seven axes", one_tensor("U8", "[1,1,1,1,1,1,1]", "[0,1]", "a"),
       "\"x\" has more than 6 axes"},
      {"2^60 elements", one_tensor("F32", "[" + huge + "]", "[0,4]", "abcd"),
       "takes 4611686018427387904"},
      {"2^120 elements", one_tensor("F32", "[" + huge + "," + huge + "]", "[0,4]", "abcd"),
       "more bytes than 64 bits can count"},
      {"0 times 2^120", one_tensor("U8", "[0," + huge + "," + huge + "]", "[0,0]", ""),
       "more bytes than 64 bits can count"},
      {"one offset", one_tensor("U8", "[1]", "[0]", "a"), "has 1 data_offsets, expected 2"},
      {"three offsets", one_tensor("U8", "[1]", "[0,1,1]", "a"), "more than 2 data_offsets"},
      {"negative offsets", one_tensor("U8", "[1]", "[-1,0]", "a"), "a negative number"},
  };
}

std::vector<Hostile> hostile_offsets() {
  const auto two = [](const std::string& a, const std::string& b, const std::string& data) {
    const std::string field = R"({"dtype":"U8","shape":[2],"data_offsets":)";
    return with_length(R"({"a":)" + field + a + R"(},"b":)" + field + b + "}}", data);
  };
  return {
      {"an end before its begin", one_tensor("U8", "[1]", "[1,0]", "a"), "before its start at 1"},
      {"past the end", one_tensor("U8", "[2]", "[0,2]", "a"), "is the file truncated?"},
      {"2^64 - 1 as end", one_tensor("U8", "[1]", "[0,18446744073709551615]", "a"), "truncated?"},
      {"too few bytes for the shape", one_tensor("F32", "[2]", "[0,4]", "abcd"), "takes 8"},
      {"too many bytes for the shape", one_tensor("U8", "[2]", "[0,4]", "abcd"), "takes 2"},
      {"data of an empty tensor", one_tensor("U8", "[0]", "[0,1]", "a"), "takes 0"},
      {"an overlap", two("[0,2]", "[1,3]", "abc"), "inside the previous tensor"},
      {"the same data twice", two("[0,2]", "[0,2]", "ab"), "inside the previous tensor"},
      {"a hole", two("[0,2]", "[3,5]", "abcde"), "but the previous tensor ends at 2"},
      {"a hole at the start", one_tensor("U8", "[1]", "[1,2]", "ab"), "ends at 0"},
      {"bytes after the last tensor", one_tensor("U8", "[1]", "[0,1]", "abc"),
       "2 bytes follow the data of the last tensor"},
      {"bytes without a tensor", with_length("{}", "abc"), "3 bytes follow"},
      {"u64 beyond i64", one_tensor("U64", "[1]", "[0,8]", std::string(8, '\xff')),
       "too large for i64"},
  };
}

void check_refused(const std::vector<Hostile>& files) {
  const TemporaryFolder folder;
  for (const Hostile& hostile : files) {
    CAPTURE(hostile.what);
    const std::string from_memory =
        message_of([&] { (void)parse_safetensors(hostile.bytes, "evil.safetensors"); });
    CAPTURE(from_memory);
    CHECK(from_memory.starts_with("evil.safetensors: "));
    CHECK(contains(from_memory, hostile.message));
    CHECK(from_memory.size() < 400);
    CHECK_FALSE(contains(from_memory, "\n"));

    const std::string path = (folder / "f").string();
    write_file_atomically(path, hostile.bytes);
    const std::string from_file = message_of([&] { (void)read_safetensors(path); });
    CHECK(from_file == path + from_memory.substr(std::string("evil.safetensors").size()));
  }
}

}  // namespace

TEST_CASE("hostile headers are refused with one line") { check_refused(hostile_headers()); }
TEST_CASE("hostile entries are refused with one line") { check_refused(hostile_entries()); }
TEST_CASE("hostile offsets are refused with one line") { check_refused(hostile_offsets()); }

TEST_CASE("every cut of a file is refused") {
  const TemporaryFolder folder;
  write_safetensors(folder / "f", {{"a", from_values({3}, {1, 2, 3})}, {"b", scalar(1)}});
  const std::string whole = read_file(folder / "f");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_THROWS_AS((void)parse_safetensors(whole.substr(0, length), "cut"), Error);
  }
}

TEST_CASE("names in messages are escaped and shortened") {
  const std::string name = "a\\n\\u001b[31m" + std::string(1000, 'y');
  const std::string message =
      message_of([&] { (void)parse_safetensors(with_length("{\"" + name + "\":5}"), "evil"); });
  CHECK(contains(message, R"("a\n\u001b[31myyy)"));
  CHECK(message.size() < 250);
}

TEST_CASE("the writer refuses what no reader could read") {
  const TemporaryFolder folder;
  const auto message = [&](const std::map<std::string, Tensor>& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    const std::string text =
        message_of([&] { write_safetensors(folder / "f", tensors, metadata); });
    CHECK_FALSE(std::filesystem::exists(folder / "f"));
    return text;
  };
  CHECK(contains(message({{"\xff", scalar(1)}}), "not UTF-8"));
  CHECK(contains(message({}, {{"k", "\xff"}}), "not UTF-8"));
  CHECK(contains(message({{"__metadata__", scalar(1)}}), "no tensor may be named __metadata__"));
  CHECK(contains(message({{"x", Tensor()}}), "tensor \"x\" is undefined"));
}

TEST_CASE("listing reads no data") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", one_tensor("F16", "[2,1]", "[0,4]", "abcd"));
  const std::vector<StoredEntry> list = list_safetensors(folder / "f").entries;
  REQUIRE(list.size() == 1);
  CHECK(list[0].name == "x");
  CHECK(to_string(list[0].type) == "F16");
  CHECK(list[0].shape == Shape{2, 1});
  CHECK(contains(message_of([&] { (void)list_safetensors(folder / "none"); }), "No such file"));
}
