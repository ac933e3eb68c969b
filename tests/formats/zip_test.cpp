// Directories of zip files: those of torch.save, and damaged and hostile ones.
#include "engine/formats/zip.h"

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/torch_bytes.h"

using namespace fovea;
using namespace fovea::tests;

namespace {

std::map<std::string, fovea::ZipMember> directory_of(const std::string& bytes) {
  return read_zip_directory(MemoryBytes(bytes, "file"), "file");
}
std::string zip_error(const std::string& bytes) {
  return message_of([&] { static_cast<void>(directory_of(bytes)); });
}

/// The same members behind a zip64 end: all that an entry or the end record cannot say in 32 bits.
std::string zip64_bytes(const std::string& name, const std::string& content, std::string wide) {
  const std::string local = zip_local({name, content}) + content;
  std::string entry = zip_entry({name, ""}, 0xffffffff);
  entry.replace(20, 8, little<std::uint64_t>(~0ULL));                 // both sizes
  wide = little<std::uint16_t>(9) + little<std::uint16_t>(1) + "?" +  // another program's field
         little<std::uint16_t>(1) + little(static_cast<std::uint16_t>(wide.size())) + wide;
  entry.replace(30, 2, little(static_cast<std::uint16_t>(wide.size())));
  entry += wide;
  const std::uint64_t offset = local.size(), size = entry.size();
  const std::string end64 = "PK\6\6" + little<std::uint64_t>(44) + std::string(12, '\0') +
                            little<std::uint64_t>(1) + little<std::uint64_t>(1) + little(size) +
                            little(offset);
  const std::string locator =
      "PK\6\7" + std::string(4, '\0') + little(offset + size) + little<std::uint32_t>(1);
  return local + entry + end64 + locator + zip_end(0xffff, 0xffffffff, 0xffffffff);
}

}  // namespace

TEST_CASE("members and their places, padded as torch.save does") {
  const std::string bytes =
      zip_bytes({{"a/x", "first"},
                 {.name = "a/y", .bytes = "2nd", .padding = std::string(40, 'F')},
                 {"a/empty", ""}});
  const auto members = directory_of(bytes);
  REQUIRE(members.size() == 3);
  CHECK(bytes.substr(members.at("a/x").offset, members.at("a/x").size) == "first");
  CHECK(bytes.substr(members.at("a/y").offset, members.at("a/y").size) == "2nd");
  CHECK(members.at("a/empty").size == 0);
  std::string commented = bytes + "a comment, PK\5\6 in it";
  commented[bytes.size() - 2] = static_cast<char>(commented.size() - bytes.size());
  CHECK(directory_of(commented).size() == 3);
}

TEST_CASE("zip64") {
  const auto eight = [](std::uint64_t value) { return little(value); };
  const std::string bytes = zip64_bytes("a/x", "data", eight(4) + eight(4) + eight(0));
  CHECK(bytes.substr(directory_of(bytes).at("a/x").offset, 4) == "data");
  CHECK(contains(zip_error(zip64_bytes("a/x", "data", eight(4))), "lacks the zip64 sizes"));
  CHECK(contains(zip_error(zip64_bytes("a/x", "data", eight(4) + eight(5) + eight(0))),
                 "of 4 bytes stored in 5"));
  CHECK(contains(zip_error(zip64_bytes("a/x", "data", eight(~0ULL) + eight(~0ULL) + eight(0))),
                 "which end outside of the file"));
  CHECK(contains(zip_error(zip64_bytes("a/x", "data", eight(4) + eight(4) + eight(~0ULL))),
                 "outside of the file"));
  std::string moved = bytes;
  moved.replace(bytes.size() - 22 - 12, 8, eight(~0ULL));  // the locator's place of the record
  CHECK(contains(zip_error(moved), "zip64 record outside of the file"));
}

TEST_CASE("what torch.save never writes is refused") {
  const std::string hidden = zip_local({"b", "xy"}) + "xy";
  const std::string inside = zip_bytes({{"a", hidden}});
  // A second entry that points into the first one's bytes.
  const std::string both = zip_entry({"a", hidden}, 0) + zip_entry({"b", "xy"}, 31);
  const std::string overlapping =
      zip_local({"a", hidden}) + hidden + both +
      zip_end(2, static_cast<std::uint32_t>(both.size()),
              static_cast<std::uint32_t>(zip_local({"a", ""}).size() + hidden.size()));
  std::string far = zip_bytes({{"a", "x"}});
  far.replace(far.size() - 22 - 5, 4, little<std::uint32_t>(1000));  // where its header is
  std::string long_one = zip_bytes({{"a", "x"}});
  long_one.replace(long_one.size() - 22 - 27, 8, little<std::uint64_t>(0x0000ffff0000ffff));
  std::string shifted = zip_bytes({{"a", "x"}});
  shifted.replace(shifted.size() - 6, 4, little<std::uint32_t>(0x7fffffff));
  std::string counted = zip_bytes({{"a", "x"}});
  counted[counted.size() - 12] = 2;
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {zip_bytes({{.name = "a", .bytes = "x", .method = 12}}),
            "the member \"a\" compressed by method 12"},
           {zip_bytes({{.name = "a", .bytes = std::string(2000, 'x'), .method = 8, .packed = 0}}),
            "of 2000 bytes stored in 0"},
           {zip_bytes({{.name = "a", .bytes = "x", .flags = 1}}), "the encrypted member"},
           {zip_bytes({{.name = "a", .bytes = "x", .packed = 9}}), "of 1 bytes stored in 9"},
           {zip_bytes({{.name = "a", .bytes = "x", .local_name = "b"}}),
            "has different names for a member"},
           {zip_bytes({{"a", "x"}, {"a", "x"}}), "the member \"a\" twice"},
           {overlapping, "the member \"b\" inside of \"a\""},
           {far, "outside of the file"},
           {long_one, "of 65535 bytes, which end outside of the file"},
           {shifted, "its directory outside of the file"},
           {counted, "1 members in its directory, but its end record lists 2"},
           {"", "no end record"},
           {"PK\3\4 and more", "no end record"}}) {
    const std::string& bytes = row.first;
    const std::string& part = row.second;
    CAPTURE(part);
    CHECK_MESSAGE(contains(zip_error(bytes), part), zip_error(bytes));
    CHECK(zip_error(bytes).starts_with("file: the zip file "));
  }
  CHECK(zip_error(inside).empty());
}

TEST_CASE("a zip file that is cut anywhere is refused") {
  const std::string whole = zip_bytes({{"a/data.pkl", "12345"}, {"a/data/0", "1234"}});
  CHECK(directory_of(whole).size() == 2);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(zip_error(whole.substr(0, size)).empty());
  }
}
