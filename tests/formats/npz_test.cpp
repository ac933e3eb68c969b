// Files of numpy.savez: stored and deflated arrays of every layout, and files that lie.
#include "engine/formats/numpy/npz.h"

#include <doctest/doctest.h>

#include "engine/formats/inflate.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_bytes.h"
#include "tests/support/values.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  const auto size = static_cast<std::uint16_t>(header.size());
  return "\x93NUMPY" + std::string(1, version) + std::string(1, '\0') + little(size) +
         (version > 1 ? std::string(2, '\0') : "") + header + data;
}
std::string header(const std::string& type, const std::string& shape,
                   const std::string& fortran = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape +
         ", }  \n";
}
std::map<std::string, Tensor> read_npz(const std::string& bytes) {
  return NpzFile(MemoryBytes(bytes, "file"), "file").read();
}
Tensor one(const std::string& array) { return read_npz(zip_bytes({{"x.npy", array}})).at("x"); }
std::string npz_error(const std::string& array) {
  return message_of([&] { static_cast<void>(one(array)); });
}
std::string unhex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace

TEST_CASE("arrays of every layout") {
  CHECK(one(npy(header("<f4", "(2, 3)"), floats_to(6))).to_vector() == Values{1, 2, 3, 4, 5, 6});
  CHECK(one(npy(header("<f4", "(2, 3)", "True"), floats_to(6))).to_vector() ==
        Values{1, 3, 5, 2, 4, 6});
  CHECK(one(npy(header("<f4", "(6,)"), floats_to(6), 2)).shape() == Shape{6});
  CHECK(one(npy(header("<f8", "()"), little(2.5))).item() == 2.5);
  CHECK(one(npy(header(">i2", "(1,)"), std::string("\x01\x02", 2))).to_vector() == Values{258});
  CHECK(one(npy(header("|V2", "(1,)"), std::string("\x80\x3f", 2))).to_vector() == Values{1});
  CHECK(one(npy(header("<f4", "(0, 3)"), "")).shape() == Shape{0, 3});
  const std::string bytes =
      zip_bytes({{"a/b/kernel.npy", npy(header("<f4", "(6,)"), floats_to(6))},
                 {"name.npy", npy(header("<U3", "(1,)"), std::string(12, 'a'))},
                 {"notes.txt", "x"}});
  const MemoryBytes source(bytes, "file");
  CHECK(is_npz(source));
  const NpzFile file(source, "file");
  REQUIRE(file.entries().size() == 1);
  CHECK(file.entries()[0].name == "a/b/kernel");
  CHECK(file.others() == std::vector<std::string>{"name", "notes.txt"});
  CHECK_FALSE(is_npz(MemoryBytes(zip_bytes({{"a/data.pkl", "x"}}), "file")));
}

TEST_CASE("arrays that lie are refused") {
  CHECK(contains(npz_error(npy(header("<f4", "(7,)"), floats_to(6))), "of shape [7] takes 28"));
  CHECK(contains(npz_error(npy(header("<f4", "(-1,)"), floats_to(6))), "its header is"));
  CHECK(contains(npz_error(npy(header("<f4", "(4000000000, 4000000000)"), floats_to(6))),
                 "its header is"));
  CHECK(contains(npz_error(npy("{'descr': '<f4'}", floats_to(6))), "its header is"));
  CHECK(contains(npz_error(npy(header("<f4", "(6,)"), "")), "has 0 bytes of data"));
  CHECK(contains(npz_error("no array at all"), "is not an array of NumPy"));
  CHECK(contains(npz_error(std::string("\x93NUMPY\x01\0\xff\x7f", 10) + "short"), "truncated"));
  const std::string whole = npy(header("<f4", "(6,)"), floats_to(6));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(npz_error(whole.substr(0, size)).empty());
  }
}

TEST_CASE("deflated data: stored blocks, fixed codes and codes of their own") {
  // As zlib writes them: at level 0, with fixed codes, and with codes of their own.
  CHECK(inflate(unhex("010500faff68656c6c6f"), 5, "") == "hello");
  CHECK(inflate(unhex("4b4c84822400"), 10, "") == "aaaaaaaaab");
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * i / 7 % 11 + 97);
  CHECK(inflate(unhex("ddccb90dc0000cc3c05965097ee4fdfb3840a608eb030104956da8cc5a0d9b23674c723b15"
                      "58cfe5459c5be644fa635b74093ec7c0db9f670f"),
                300, "") == text);
  CHECK(contains(message_of([] { (void)inflate(unhex("010500faff68656c6c6f"), 4, "f"); }),
                 "more than the 4 bytes"));
  CHECK(contains(message_of([] { (void)inflate(unhex("010500faff68656c6c6f"), 6, "f"); }),
                 "to 5 bytes, expected 6"));
  for (const char* const damaged :
       {"", "07", "0105", "010500fafe68656c6c6f", "4b", "05e0", "edfd"}) {
    CHECK(contains(message_of([&] { (void)inflate(unhex(damaged), 10, "f"); }), "damaged"));
  }
}
