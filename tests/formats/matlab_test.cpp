// MATLAB 5 files: arrays of every class and byte order, the official split files of two data sets,
// and files that lie.
#include "engine/formats/matlab.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "engine/base/files.h"
#include "tests/support/matlab_bytes.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/values.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

constexpr MatlabWriter kLittle{}, kBig{.is_big_endian = true};

/// x is a 2 x 3 array of 16-bit numbers, 1 2 3 over 4 5 600; stored column by column.
std::string six(const MatlabWriter& write) {
  return write.header("x", 11, {2, 3}) +
         write.part(4, write.numbers<std::uint16_t>({1, 4, 2, 5, 3, 600}));
}
MatlabFile open(const std::string& bytes) { return {bytes, "file"}; }
MatlabFile with(const std::vector<std::string>& elements) { return open(kLittle.file(elements)); }
std::string matlab_error(const std::string& bytes) {
  return message_of([&] {
    const MatlabFile file = open(bytes);
    for (const auto& variable : file.variables()) static_cast<void>(file.read(variable.name));
  });
}
std::string array_error(const std::string& array) {
  return matlab_error(kLittle.file({kLittle.element(14, array)}));
}

/// One of the official files, see README.md beside them.
MatlabFile official(const std::string& name) {
  const std::filesystem::path path = FOVEA_SOURCE_DIR "/tests/formats/matlab_files/" + name;
  return {read_file(path), name};
}

}  // namespace

TEST_CASE("arrays in C order, of both byte orders, compressed and not") {
  for (const MatlabWriter& write : {kLittle, kBig}) {
    for (const bool packed : {false, true}) {
      CAPTURE(write.is_big_endian);
      CAPTURE(packed);
      const std::string plain = write.element(14, six(write));
      const MatlabFile file =
          open(write.file({packed ? write.element(15, zlib_stored(plain)) : plain}));
      REQUIRE(file.variables().size() == 1);
      CHECK(file.variables()[0].type == "uint16");
      CHECK(file.variables()[0].shape == Shape{2, 3});
      const Tensor x = file.read("x");
      CHECK(x.dtype() == DType::i64);
      CHECK(x.shape() == Shape{2, 3});
      CHECK(x.to_vector() == Values{1, 2, 3, 4, 5, 600});
    }
  }
}

TEST_CASE("every class, and values that are stored shorter") {
  const auto one = [](const MatlabWriter& w, std::uint32_t kind, std::uint32_t stored,
                      const std::string& bytes) {
    const std::string values =
        bytes.size() <= 4 ? w.short_part(stored, bytes) : w.part(stored, bytes);
    return open(w.file({w.element(14, w.header("a name", kind, {1, 1}) + values)})).read("a name");
  };
  for (const MatlabWriter& w : {kLittle, kBig}) {
    CHECK(one(w, 6, 9, w.number(2.5)).item() == 2.5);
    CHECK(one(w, 6, 9, w.number(2.5)).dtype() == DType::f64);
    CHECK(one(w, 6, 2, "\x07").dtype() == DType::f64);
    CHECK(one(w, 6, 3, w.number(std::int16_t{-300})).item() == -300);
    CHECK(one(w, 7, 7, w.number(0.5F)).dtype() == DType::f32);
    CHECK(one(w, 7, 7, w.number(0.5F)).item() == 0.5);
    CHECK(one(w, 8, 1, "\xfe").item() == -2);
    CHECK(one(w, 9, 2, "\xfe").dtype() == DType::u8);
    CHECK(one(w, 10, 3, w.number(std::int16_t{-2})).item() == -2);
    CHECK(one(w, 11, 4, w.number(std::uint16_t{40000})).item() == 40000);
    CHECK(one(w, 12, 5, w.number(std::int32_t{-70000})).item() == -70000);
    CHECK(one(w, 13, 6, w.number(std::uint32_t{3000000000U})).item() == 3e9);
    CHECK(one(w, 14, 12, w.number(std::int64_t{-1} << 40)).item() == -1099511627776.0);
    CHECK(one(w, 15, 13, w.number(std::uint64_t{1} << 40)).item() == 1099511627776.0);
  }
  const MatlabFile cube = with({kLittle.element(
      14, kLittle.header("c", 9, {2, 1, 2}) + kLittle.short_part(2, "\x01\x02\x03\x04"))});
  CHECK(cube.read("c").shape() == Shape{2, 1, 2});
  CHECK(cube.read("c").to_vector() == Values{1, 3, 2, 4});
  CHECK(with({kLittle.element(14, kLittle.header("e", 6, {0, 0}) + kLittle.part(9, ""))})
            .read("e")
            .shape() == Shape{0, 0});
}

TEST_CASE("variables that are no real numbers are listed, and refused when read") {
  const std::string text = kLittle.header("text", 4, {1, 2}) + kLittle.part(4, "a\0b\0");
  const std::string opaque = kLittle.part(6, kLittle.number(std::uint64_t{17}));
  const std::string complex =
      kLittle.header("z", 6, {1, 1}, 8) + kLittle.part(9, "12345678") + kLittle.part(9, "12345678");
  const MatlabFile file = with({kLittle.element(14, text), kLittle.element(14, opaque),
                                kLittle.element(14, complex), kLittle.row("row", {1, 2})});
  REQUIRE(file.variables().size() == 3);
  CHECK(file.variables()[0].type == "char");
  CHECK_FALSE(file.variables()[0].is_numeric);
  CHECK(contains(message_of([&] { static_cast<void>(file.read("text")); }), "is a char"));
  CHECK(contains(message_of([&] { static_cast<void>(file.read("z")); }), "is complex"));
  CHECK(contains(message_of([&] { static_cast<void>(file.read("rows")); }),
                 "has no variable \"rows\"; it has text, z, row"));
  CHECK(file.read("row").to_vector() == Values{1, 2});
}

TEST_CASE("indices count from 0") {
  const auto indices = [](const std::vector<std::uint16_t>& values, std::int64_t count) {
    return with({kLittle.row("i", values)}).read_indices("i", count);
  };
  CHECK(indices({1, 3, 2}, 3) == std::vector<std::int64_t>{0, 2, 1});
  CHECK(
      contains(message_of([&] { indices({0}, 3); }), "contains 0, expected whole numbers from 1"));
  CHECK(contains(message_of([&] { indices({4}, 3); }), "contains 4"));
  CHECK(contains(message_of([&] { indices({1, 2, 3, 1}, 3); }), "at most 3 numbers"));
  const MatlabFile halves = with(
      {kLittle.element(14, kLittle.header("i", 6, {1, 1}) + kLittle.part(9, kLittle.number(1.5))),
       kLittle.element(
           14, kLittle.header("n", 6, {1, 1}) + kLittle.part(9, kLittle.number(std::nan("")))),
       kLittle.element(14, six(kLittle))});
  CHECK(contains(message_of([&] { static_cast<void>(halves.read_indices("i", 9)); }), "1.5"));
  CHECK(contains(message_of([&] { static_cast<void>(halves.read_indices("n", 9)); }), "nan"));
  CHECK(contains(message_of([&] { static_cast<void>(halves.read_indices("x", 9)); }),
                 "has shape [2, 3]"));
}

TEST_CASE("the official split files: NYU depth v2 and Oxford's flowers") {
  const MatlabFile nyu = official("nyu-splits.mat");
  CHECK(nyu.read("trainNdxs").shape() == Shape{795, 1});
  std::vector<std::int64_t> all = nyu.read_indices("trainNdxs", 1449);
  CHECK(all.front() == 2);
  const std::vector<std::int64_t> test = nyu.read_indices("testNdxs", 1449);
  CHECK(test.size() == 654);
  all.insert(all.end(), test.begin(), test.end());
  CHECK(std::set<std::int64_t>(all.begin(), all.end()).size() == 1449);

  const MatlabFile flowers = official("flowers102-setid.mat");
  std::set<std::int64_t> images;
  for (const auto& [name, count] :
       {std::pair("trnid", 1020), std::pair("valid", 1020), std::pair("tstid", 6149)}) {
    const std::vector<std::int64_t> part = flowers.read_indices(name, 8189);
    CHECK(std::ssize(part) == count);
    images.insert(part.begin(), part.end());
  }
  CHECK(images.size() == 8189);
  const MatlabFile labels = official("flowers102-imagelabels.mat");
  CHECK(labels.read("labels").dtype() == DType::f64);
  CHECK(labels.read("labels").shape() == Shape{1, 8189});
  CHECK(labels.read("labels").at(0) == 77);
}

TEST_CASE("MATLAB files that lie are refused") {
  const MatlabWriter w = kLittle;
  const auto row = [&](const std::string& values) { return w.header("x", 9, {1, 3}) + values; };
  CHECK(contains(matlab_error("short"), "has 5 bytes"));
  CHECK(contains(matlab_error(std::string(200, ' ')), "neither IM nor MI"));
  std::string hdf5 = w.file({});
  hdf5.replace(0, 10, "MATLAB 7.3");
  CHECK(contains(matlab_error(hdf5), "HDF5"));
  std::string old = w.file({});
  old[125] = '\3';
  CHECK(contains(matlab_error(old), "unknown version"));
  CHECK(
      contains(matlab_error(w.file({w.element(9, "12345678")})), "element of type 9 at byte 128"));
  CHECK(contains(array_error(row(w.part(2, "12"))), "has 2 bytes of values, but shape [1, 3]"));
  CHECK(contains(array_error(row(w.part(9, std::string(24, 'x')))), "does not fit its class"));
  CHECK(contains(array_error(row(w.short_part(2, "123") + "12345678")), "do not fill"));
  CHECK(contains(array_error(w.header("x", 9, {-1, 3}) + w.part(2, "")), "negative size"));
  CHECK(contains(array_error(w.header("x", 9, {3}) + w.part(2, "")), "expected 2 to 6 sizes"));
  CHECK(
      contains(array_error(w.header("x", 9, std::vector<std::int32_t>(6, 1 << 30))), "no memory"));
  CHECK(contains(array_error(w.part(5, "12345678")), "in a variable's header, expected 6"));
  CHECK(contains(array_error(w.number(std::uint32_t{7} << 16 | 6)), "short element of 7"));
  CHECK(contains(matlab_error(w.file({w.row("x", {1}), w.row("x", {2})})), "\"x\" twice"));
}

TEST_CASE("compressed variables that lie are refused") {
  const MatlabWriter w = kLittle;
  const std::string plain = w.element(14, six(w));
  const auto packed = [&](const std::string& stream) {
    return matlab_error(w.file({w.element(15, stream)}));
  };
  CHECK(packed(zlib_stored(plain)).empty());
  CHECK(contains(packed(zlib_stored(w.element(15, plain))), "type 15 in compressed form"));
  CHECK(contains(packed(zlib_stored(plain + "x")), "more than"));
  CHECK(contains(packed(zlib_stored(plain.substr(0, plain.size() - 4))), "less than"));
  CHECK(contains(packed("no zlib stream"), "compressed data are damaged"));
  std::string checksum = zlib_stored(plain);
  checksum.back() ^= 1;
  CHECK(contains(packed(checksum), "compressed data are damaged"));
  // A small stream that claims a gigabyte: nothing of that size is allocated.
  const std::string claim = w.number(std::uint32_t{14}) + w.number(std::uint32_t{1} << 30) +
                            w.header("x", 9, {1, 1 << 30}) + w.number(std::uint32_t{2}) +
                            w.number(std::uint32_t{1} << 30);
  CHECK_FALSE(packed(zlib_stored(claim)).empty());
}

TEST_CASE("a truncated MATLAB file is refused") {
  const std::string whole = kLittle.file(
      {kLittle.row("a", {1, 2, 3}), kLittle.element(15, zlib_stored(kLittle.row("b", {4})))});
  CHECK(matlab_error(whole).empty());
  const std::size_t first = kLittle.file({kLittle.row("a", {1, 2, 3})}).size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const bool is_whole = size == 128 || size == first;
    CHECK(matlab_error(whole.substr(0, size)).empty() == is_whole);
  }
}
