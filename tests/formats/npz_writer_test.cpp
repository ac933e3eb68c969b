// Zip and .npz files as they are written: read back, and compared with what zlib and NumPy expect.
#include "engine/formats/numpy/npz_writer.h"

#include <doctest/doctest.h>

#include "engine/base/crc32.h"
#include "engine/base/files.h"
#include "engine/formats/numpy/npz.h"
#include "engine/formats/zip.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::map<std::string, Tensor> read_npz_file(const std::filesystem::path& path) {
  const InputFile file(path);
  return NpzFile(file, path.string()).read();
}

}  // namespace

TEST_CASE("CRC-32 by its check value, in pieces of any length") {
  CHECK(crc32("123456789") == 0xCBF43926);
  CHECK(crc32("") == 0);
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * i % 251);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    CHECK(crc32(text.substr(cut), crc32(text.substr(0, cut))) == crc32(text));
  }
}

TEST_CASE("arrays written in pieces read back") {
  const TemporaryFolder folder;
  NpzWriter writer(folder / "a.npz");
  writer.begin("arr_0", StoredType::u8, {2, 1, 2, 3});
  writer.append(bytes_of("abcde"));
  writer.append(bytes_of("fghijkl"));
  const Tensor labels = from_values({2}, {3, -7}, {DType::i64, {}});
  writer.add("arr_1", labels);
  writer.add("scalar", full({}, 2.5, {DType::f64, {}}));
  CHECK_FALSE(std::filesystem::exists(folder / "a.npz"));
  writer.finish();
  const auto arrays = read_npz_file(folder / "a.npz");
  REQUIRE(arrays.size() == 3);
  CHECK(arrays.at("arr_0").shape() == Shape{2, 1, 2, 3});
  CHECK(arrays.at("arr_0").dtype() == DType::u8);
  CHECK(arrays.at("arr_0").at(3) == 'd');
  CHECK(arrays.at("arr_0").at(11) == 'l');
  CHECK(arrays.at("arr_1").to_vector() == std::vector<double>{3, -7});
  CHECK(arrays.at("scalar").item() == 2.5);
}

TEST_CASE("the header is NumPy's: 64 bytes aligned, the types' order marks, tuples of one") {
  const TemporaryFolder folder;
  NpzWriter writer(folder / "a.npz");
  writer.begin("x", StoredType::i64, {1});
  writer.append(bytes_of(std::string(8, '\1')));
  writer.begin("y", StoredType::u8, {1, 0});
  writer.finish();
  const std::string file = read_file(folder / "a.npz");
  const auto x = file.find("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }");
  CHECK(x == 30 + std::string("x.npy").size() + 10);
  CHECK(file.find("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 0), }") < file.size());
  const InputFile source(folder / "a.npz");
  const auto members = read_zip_directory(source, "a.npz");
  CHECK(members.at("x.npy").data_size == 128 + 8);
  CHECK(file[members.at("x.npy").offset + 127] == '\n');
}

TEST_CASE("an array with too few or too many elements is refused, and no file appears") {
  const TemporaryFolder folder;
  {
    NpzWriter writer(folder / "a.npz");
    writer.begin("x", StoredType::u8, {3});
    CHECK(contains(message_of([&] { writer.append(bytes_of("abcd")); }), "got 4 bytes"));
    writer.append(bytes_of("ab"));
    CHECK(contains(message_of([&] { writer.finish(); }), "lacks 1 of"));
  }
  CHECK(contains(message_of([&] { NpzWriter(folder / "a.npz").begin("x", StoredType::bf16, {3}); }),
                 "NumPy has no type BF16"));
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(contains(message_of([&] { NpzWriter writer(folder / "no" / "a.npz"); }), "cannot write"));
}

TEST_CASE("a member's header and its entry in the directory have its checksum") {
  const TemporaryFolder folder;
  ZipWriter writer(folder / "zip");
  writer.begin("digits", 9);
  writer.append("1234");
  writer.append("56789");
  writer.finish();
  const std::string file = read_file(folder / "zip"), crc = "\x26\x39\xf4\xcb";
  CHECK(file.substr(14, 4) == crc);
  const auto entry = file.find("PK\1\2");
  REQUIRE(entry < file.size());
  CHECK(file.substr(entry + 16, 4) == crc);
}

TEST_CASE("zip64 records: sizes, offsets and the directory") {
  const TemporaryFolder folder;
  for (const std::uint64_t limit : {1, 40, 200, 1000}) {
    CAPTURE(limit);
    const auto path = folder / std::to_string(limit);
    ZipWriter writer(path, Unfinished::removed, limit);
    for (const char* const name : {"a", "b", "c"}) {
      writer.begin(name, 60);
      writer.append(std::string(60, name[0]));
    }
    writer.begin("empty", 0);
    writer.finish();
    const InputFile source(path);
    const auto members = read_zip_directory(source, "zip");
    REQUIRE(members.size() == 4);
    for (const char* const name : {"a", "b", "c"}) {
      CHECK(read_member(source, members.at(name), "zip") == std::string(60, name[0]));
    }
    CHECK(members.at("empty").data_size == 0);
  }
}

TEST_CASE("an array that a killed process began is continued, at its last whole row") {
  const TemporaryFolder folder;
  const auto path = folder / "a.npz", partial = folder / "a.npz.partial";
  const Tensor labels = from_values({3}, {3, -7, 1}, {DType::i64, {}});
  const auto write = [&](NpzWriter& writer, std::int64_t rows) {
    writer.append(bytes_of(std::string("abcdef").substr(static_cast<std::size_t>(2 * rows))));
    writer.add("arr_1", labels);
    writer.finish();
  };
  {
    NpzWriter whole(folder / "whole.npz");
    whole.begin("arr_0", StoredType::u8, {3, 2});
    write(whole, 0);
  }
  const std::string expected = read_file(folder / "whole.npz");
  const auto head = expected.find("abcdef");
  for (const std::size_t kept :
       {std::size_t{0}, std::size_t{20}, head, head + 3, head + 6, expected.size()}) {
    CAPTURE(kept);
    write_file_atomically(partial, expected.substr(0, kept));
    NpzWriter writer(path, Unfinished::kept);
    const std::int64_t rows = writer.resume("arr_0", StoredType::u8, {3, 2});
    CHECK(
        rows ==
        (kept < head ? 0 : static_cast<std::int64_t>(std::min<std::size_t>((kept - head) / 2, 3))));
    CHECK(contains(message_of([&] { NpzWriter other(path, Unfinished::kept); }),
                   "another process is writing it"));
    write(writer, rows);
    CHECK(read_file(path) == expected);
    CHECK_FALSE(std::filesystem::exists(partial));
  }
}

TEST_CASE("rows that may not have reached the disk are written again") {
  const TemporaryFolder folder;
  const auto path = folder / "a.npz", partial = folder / "a.npz.partial";
  {
    NpzWriter writer(path, Unfinished::kept);
    CHECK(writer.resume("arr_0", StoredType::u8, {4, 2}) == 0);
    writer.append(bytes_of("abcd"));
    writer.commit();
    writer.append(bytes_of("ef"));
  }
  std::filesystem::resize_file(partial, std::filesystem::file_size(partial) + 2);  // with zeros
  for (const std::int64_t rows : {2, 1}) {
    CAPTURE(rows);
    NpzWriter writer(path, Unfinished::kept);
    CHECK(writer.resume("arr_0", StoredType::u8, {4, 2}) == rows);
    std::filesystem::resize_file(partial, std::filesystem::file_size(partial) - 1);
  }
  NpzWriter writer(path, Unfinished::kept);
  CHECK(writer.resume("arr_0", StoredType::u8, {4, 2}) == 0);
  writer.append(bytes_of("abcdefgh"));
  writer.finish();
  CHECK(read_npz_file(path).at("arr_0").at(7) == 'h');
}

TEST_CASE("content that is kept is not continued as another array") {
  const TemporaryFolder folder;
  {
    NpzWriter writer(folder / "a.npz", Unfinished::kept);
    CHECK(writer.resume("arr_0", StoredType::u8, {3, 2}) == 0);
    writer.append(bytes_of("ab"));
  }
  CHECK(std::filesystem::exists(folder / "a.npz.partial"));
  NpzWriter writer(folder / "a.npz", Unfinished::kept);
  CHECK(contains(message_of([&] {
                   (void)writer.resume("arr_0", StoredType::u8, {4, 2});
                 }),
                 "was begun for another file"));
}

TEST_CASE("more members than 16 bits count") {
  const TemporaryFolder folder;
  ZipWriter writer(folder / "many");
  for (int i = 0; i < 70000; ++i) writer.begin(std::to_string(i), 0);
  writer.finish();
  const InputFile source(folder / "many");
  CHECK(read_zip_directory(source, "many").size() == 70000);
}
