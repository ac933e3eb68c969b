// Files that are not weights get an error that names what they are.
#include "engine/formats/foreign_file.h"

#include <doctest/doctest.h>

#include "engine/formats/weights_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_bytes.h"

using namespace fovea;
using namespace fovea::tests;

TEST_CASE("files that went wrong are called what they are, under either name") {
  const TemporaryFolder folder;
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"", "is empty (0 bytes)"},
           {"version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') +
                "\nsize 22883\n",
            "is a Git LFS pointer to 22883 bytes, not the weights themselves; fetch them with git "
            "lfs pull"},
           {"<!DOCTYPE html><html>Sign in</html>", "is a web page"},
           {"\n\n  <HTML><body>", "is a web page"},
           {"\xef\xbb\xbf<?xml version='1.0'?>", "is a web page"},
           {R"({"error":"Access to model x is restricted"})",
            "is a JSON text, not weights: \"{\\\"error\\\":\\\"Access"},
           {"Entry not found", "is a text, not weights: \"Entry not found\""},
           {"\x1f\x8b\x08 and more", "is compressed with gzip; unpack it"},
           {"BZh91AY", "is compressed with bzip2"},
           {std::string("\xfd"
                        "7zXZ\0\0",
                        7),
            "is compressed with xz"},
           {std::string("name") + std::string(253, '\0') + "ustar" + std::string(300, '\0'),
            "is a tar archive; unpack it"},
           {std::string("\x89HDF\r\n\x1a\n\0\0", 10), "is an HDF5 file"},
           {"\x93NUMPY\x01 and more", "is a single NumPy array"},
           {"\x89PNG\r\n\x1a\n", "is a PNG picture"}}) {
    for (const char* const name : {"a.pth", "a.safetensors", "a.npz", "a.pth.tar", "a"}) {
      CAPTURE(row.second);
      write_file_atomically(folder / name, row.first);
      const std::string said = message_of([&] { (void)read_weights(folder / name); });
      CHECK_MESSAGE(contains(said, (folder / name).string() + ": " + row.second), said);
      CHECK(message_of([&] { (void)list_weights(folder / name); }) == said);
    }
  }
  write_file_atomically(folder / "a.zip", zip_bytes({{"picture.png", "x"}}));
  CHECK(
      contains(message_of([&] { (void)read_weights(folder / "a.zip"); }), "is a zip file without"));
}
