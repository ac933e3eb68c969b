// Tar files in their dialects, and the samples in them.
#include "data/sources/packed/tar.h"

#include <doctest/doctest.h>

#include <map>

#include "data/sources/packed/tar_samples.h"
#include "data/sources/packed/tar_shards.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using namespace tests;

MemoryBytes bytes_of(const std::string& text) { return {text, "tar"}; }

std::vector<std::string> paths_of(const std::string& tar) {
  std::vector<std::string> paths;
  for (const TarMember& member : index_tar(bytes_of(tar), "tar")) paths.push_back(member.path);
  return paths;
}

std::string tar_error(const std::string& tar) {
  return message_of([&] { (void)index_tar(bytes_of(tar), "tar"); });
}

TarSamples samples_of(const std::string& tar) {
  return group_tar(bytes_of(tar), index_tar(bytes_of(tar), "tar"), "tar");
}

/// "LENGTH KEY=VALUE\n", the length counting itself.
std::string pax_record(const std::string& text) {
  std::size_t length = text.size() + 3;
  while (std::to_string(length).size() + text.size() + 2 != length) ++length;
  return std::to_string(length) + " " + text + "\n";
}

}  // namespace

TEST_CASE("members are found where they lie; folders and links are passed over") {
  const std::string tar = tar_member("a/", "", '5') + tar_member("a/one.txt", "first") +
                          tar_member("link", "", '2') + tar_member("two", std::string(600, 'x')) +
                          tar_member("empty", "") + tar_end();
  const auto members = index_tar(bytes_of(tar), "tar");
  REQUIRE(members.size() == 3);
  CHECK(members[0].path == "a/one.txt");
  CHECK(tar.substr(members[0].offset, members[0].size) == "first");
  CHECK(members[1].size == 600);
  CHECK(members[2].size == 0);
  CHECK(paths_of(tar.substr(0, tar.size() - 1024)).size() == 3);  // without an end
}

TEST_CASE("long names: ustar's prefix, GNU's and pax's own headers") {
  const std::string longer(150, 'n');
  std::string prefixed = tar_member("name", "x");
  prefixed.replace(345, 6, "folder");
  prefixed.replace(148, 8, "        ");
  std::size_t sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(prefixed[i]);
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%06zo", sum);
  prefixed.replace(148, 6, digits.data());
  CHECK(paths_of(prefixed + tar_end()) == std::vector<std::string>{"folder/name"});

  const std::string gnu =
      tar_member("././@LongLink", longer + '\0', 'L') + tar_member("short", "x");
  CHECK(paths_of(gnu + tar_member("next", "")) == std::vector<std::string>{longer, "next"});
  const std::string pax = tar_member("PaxHeader", pax_record("path=" + longer), 'x') +
                          tar_member("short", "x") + tar_member("next", "");
  CHECK(paths_of(pax) == std::vector<std::string>{longer, "next"});
}

TEST_CASE("pax's size counts, and so does GNU's binary one") {
  std::string big = tar_member("PaxHeader", pax_record("size=5"), 'x');
  big += tar_member("a", "") + std::string("hello") + std::string(507, '\0') + tar_end();
  const auto members = index_tar(bytes_of(big), "tar");
  REQUIRE(members.size() == 1);
  CHECK(members[0].size == 5);

  std::string binary = tar_member("a", "hello");
  binary.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\5", 12));
  binary.replace(148, 8, "        ");
  std::size_t sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(binary[i]);
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%06zo", sum);
  binary.replace(148, 6, digits.data());
  CHECK(index_tar(bytes_of(binary), "tar").at(0).size == 5);
}

TEST_CASE("damaged tar files are refused") {
  const std::string tar = tar_member("a", "hello") + tar_end();
  std::string other = tar;
  other[0] = 'b';
  CHECK(contains(tar_error(other), "its checksum is wrong"));
  CHECK(contains(tar_error(tar.substr(0, 100)), "cut off at byte 0"));
  CHECK(contains(tar_error(tar.substr(0, 514)), "has 5 bytes, but the file ends after 2"));
  CHECK(contains(tar_error(tar_member("p", "99 path=x\n", 'x') + tar), "extended tar header"));
  CHECK(contains(tar_error(tar_member("p", pax_record("size=-1"), 'x') + tar), "has the size"));
  CHECK(tar_error("").empty());
}

TEST_CASE("samples are members that agree up to the first dot") {
  const std::string tar = tar_sample("x/k1", 1, 4) + tar_member("x/k2.seg.png", "s") +
                          tar_member("x/k2.JPEG", "jpeg bytes") + tar_member("x/k2.cls", "7\n") +
                          tar_member("x/k3.jpg", "no label") + tar_member("__note__.json", "{}") +
                          tar_end();
  const TarSamples found = group_tar(bytes_of(tar), index_tar(bytes_of(tar), "tar"), "tar");
  REQUIRE(found.samples.size() == 2);
  CHECK(found.samples[0].label == 4);
  CHECK(found.samples[1].path == "x/k2.JPEG");
  CHECK(found.samples[1].label == 7);
  CHECK(tar.substr(found.samples[1].offset, found.samples[1].size) == "jpeg bytes");
  CHECK(found.incomplete == 1);
}

TEST_CASE("what a Mac leaves between members is passed over") {
  const std::string tar = tar_member("._k1.png", "x") + tar_member("k1.png", "1") +
                          tar_member("._k1.cls", "x") + tar_member("k1.cls", "3") +
                          tar_member("./._k2.png", "x") + tar_member(".DS_Store", "x") + tar_end();
  const TarSamples found = samples_of(tar);
  REQUIRE(found.samples.size() == 1);
  CHECK(found.samples[0].path == "k1.png");
  CHECK(found.samples[0].label == 3);
  CHECK(found.incomplete == 0);
}

TEST_CASE("a label may stand anywhere in its shard") {
  const std::string tar = tar_member("a.png", "1") + tar_member("b.png", "2") +
                          tar_member("a.cls", "5") + tar_member("b.cls", "6") + tar_end();
  const TarSamples found = samples_of(tar);
  REQUIRE(found.samples.size() == 2);
  CHECK(found.samples[0].label == 5);
  CHECK(found.samples[1].label == 6);
  // The same names again are other samples, as in shards that were joined.
  const std::string twice = tar_sample("k", 0, 1) + tar_sample("k", 1, 2) + tar_end();
  const TarSamples both = samples_of(twice);
  REQUIRE(both.samples.size() == 2);
  CHECK(both.samples[0].label == 1);
  CHECK(both.samples[1].label == 2);
}

TEST_CASE("names with dots: the right pairs, whether the first dot counts or the last") {
  const auto labels = [](const std::vector<std::string>& paths) {
    std::string tar;
    for (const std::string& path : paths) tar += tar_member(path, std::to_string(path.size()));
    std::map<std::string, std::int64_t> by_path;
    for (const TarSample& sample : samples_of(tar).samples) by_path[sample.path] = sample.label;
    return by_path;
  };
  using LabelsByPath = std::map<std::string, std::int64_t>;
  CHECK(labels({"2000.05.png", "2000.05.cls"}) == LabelsByPath{{"2000.05.png", 11}});
  CHECK(labels({"v1.0_1.png", "v1.0_1.cls", "v1.0_20.png", "v1.0_20.cls"}) ==
        LabelsByPath{{"v1.0_1.png", 10}, {"v1.0_20.png", 11}});
  CHECK(labels({"v1.0/s.png", "v1.0/s.cls"}) == LabelsByPath{{"v1.0/s.png", 10}});
  CHECK(labels({"000.input.png", "000.output.cls"}) == LabelsByPath{{"000.input.png", 14}});
  CHECK(labels({"k.png", "k.mask.png", "k.cls"}) == LabelsByPath{{"k.png", 5}});
  const TarSamples unclear = samples_of(tar_member("0.a.png", "x") + tar_member("0.b.png", "x") +
                                        tar_member("0.c.cls", "1"));
  CHECK(unclear.incomplete == 1);
  CHECK(unclear.cause ==
        "tar: 0.a.png and 0.b.png may both belong to 0, expected only one of each kind");
}

TEST_CASE("labels in .json and .txt are read where there is no .cls") {
  const auto label = [](const std::string& members) {
    const TarSamples found = samples_of(tar_member("k.png", "x") + members);
    return found.samples.empty() ? -1 : found.samples[0].label;
  };
  CHECK(label(tar_member("k.json", "{\"label\": 7, \"width\": 3}")) == 7);
  CHECK(label(tar_member("k.txt", " 4\n")) == 4);
  CHECK(label(tar_member("k.json", "{\"label\": 7}") + tar_member("k.cls", "2")) == 2);
  const auto cause = [](const std::string& members) {
    return samples_of(tar_member("k.png", "x") + members).cause;
  };
  CHECK(cause(tar_member("k.json", "{\"caption\": \"a dog\"}")) ==
        "tar: k.json has no whole number \"label\", and there is no k.cls");
  CHECK(cause(tar_member("k.json", "{")) ==
        "tar: k.json has no whole number \"label\", and there is no k.cls");
  CHECK(cause(tar_member("k.txt", "a dog")) ==
        "tar: k.txt is not an integer of 0 or more, and there is no k.cls");
  CHECK(cause("") == "tar: k.png has no label, expected a number in k.cls");
  CHECK(samples_of(tar_member("k.cls", "1")).cause == "tar: k.cls has no matching picture");
}

TEST_CASE("blanks and a byte-order mark around a label are no part of it") {
  for (const char* label : {"3", " 3", "\t3 \r\n", "  3",
                            "\xEF\xBB\xBF"
                            "3\r\n"}) {
    CAPTURE(label);
    const TarSamples found = samples_of(tar_member("k.png", "x") + tar_member("k.cls", label));
    REQUIRE(found.samples.size() == 1);
    CHECK(found.samples[0].label == 3);
  }
}

TEST_CASE("compressed shards are named, with what unpacks them") {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& name) {
    return message_of([&] { (void)open_dataset(photographs(folder.path(), name), Split::train); });
  };
  for (const auto& [name_of_file, command] :
       {std::pair("train-0.tar.gz", "gunzip -k "), std::pair("train-0.tgz", "gunzip -k -S .tgz "),
        std::pair("train-0.tar.zst", "unzstd "), std::pair("train-0.tar.xz", "unxz -k ")}) {
    const std::string file = name_of_file;  // clang 14 captures no binding
    CAPTURE(file);
    write_file_atomically(folder / file, "x");
    for (const char* const name : {"tar", "auto"}) {
      CHECK(contains(message(name), file + ": is compressed"));
      CHECK(contains(message(name), command + (folder / file).string()));
    }
    std::filesystem::remove(folder / file);
  }
  write_file_atomically(folder / "train-1.tar.gz", "x");
  write_file_atomically(folder / "train-0.tar", tar_sample("a", 0, 0) + tar_end());
  CHECK(contains(open_dataset(photographs(folder.path(), "tar"), Split::train)->notice(),
                 "skipped " + (folder / "train-1.tar.gz").string() + ": is compressed"));
  write_file_atomically(folder / "train-1.tar", tar_sample("b", 1, 0) + tar_end());
  CHECK(open_dataset(photographs(folder.path(), "tar"), Split::train)->notice().empty());
  // A tar file that was compressed and kept its name.
  write_file_atomically(folder / "train-1.tar", std::string("\x1f\x8b\x08\0", 4) + "rest");
  CHECK(
      contains(message("tar"),
               "train-1.tar: is compressed with gzip; unpack it with gunzip to a plain tar file"));
}

TEST_CASE("labels are numbers") {
  for (const char* label : {"", "cat", "-1", "3.5", "99999999999999999999"}) {
    CAPTURE(label);
    const std::string tar = tar_member("k.png", "x") + tar_member("k.cls", label);
    CHECK(contains(
        message_of([&] { (void)group_tar(bytes_of(tar), index_tar(bytes_of(tar), "tar"), "tar"); }),
        "tar: k.cls: got the label"));
  }
}

TEST_CASE("braces stand for ranges and lists") {
  const auto& names = shard_names;
  using Shards = std::vector<std::string>;
  CHECK(names("a.tar") == Shards{"a.tar"});
  CHECK(names("s-{008..011}.tar") == Shards{"s-008.tar", "s-009.tar", "s-010.tar", "s-011.tar"});
  CHECK(names("{8..10}") == Shards{"8", "9", "10"});
  CHECK(names("{a,b}{0..1}") == Shards{"a0", "a1", "b0", "b1"});
  for (const char* bad :
       {"{0..1", "{3..1}", "{a..c}", "{0..99999999}", "{..}", "{0..999}{0..999}{0..999}"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)names(bad), Error);
  }
}

TEST_CASE("shards are one data set") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x-train-001.tar", tar_sample("c", 2, 0) + tar_end());
  write_file_atomically(folder / "x-train-000.tar",
                        tar_sample("a", 0, 0) + tar_sample("b", 1, 1) + tar_end());
  write_file_atomically(folder / "x-val-000.tar", tar_sample("v", 5, 3) + tar_end());
  const auto train = open_dataset(photographs(folder.path(), "tar"), Split::train);
  REQUIRE(train->size() == 3);
  for (int i = 0; i < 3; ++i) CHECK(train->get(i).image == numbered_image(i));
  CHECK(train->label(1) == 1);
  CHECK(train->parts() == std::vector<std::int64_t>{2, 1});
  CHECK(train->class_names() == std::vector<std::string>{"0", "1", "2", "3"});  // val's too
  CHECK(contains(train->describe(2), "x-train-001.tar: c.png"));

  write_file_atomically(folder / "classes.txt", "cat\ndog\nemu\nfox\n");
  const auto val = open_dataset(photographs(folder.path(), "tar"), Split::test);
  CHECK(val->class_names().at(val->label(0)) == "fox");
  write_file_atomically(folder / "classes.txt", "cat\ndog\nemu\n");
  CHECK(contains(
      message_of([&] { (void)open_dataset(photographs(folder.path(), "tar"), Split::test); }),
      "has the label 3, but only 3 classes have names"));
}

TEST_CASE("a shard cut short while it is open is an error of the images that are gone") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "train-0.tar",
                        tar_sample("a", 0, 0) + tar_sample("b", 1, 1) + tar_end());
  const auto train = open_dataset(photographs(folder.path(), "tar"), Split::train);
  std::filesystem::resize_file(folder / "train-0.tar", 600);
  CHECK_THROWS_AS((void)train->get(1), ImageError);
  CHECK(contains(message_of([&] { (void)train->get(1); }), "train-0.tar: the file ends at byte"));
}

TEST_CASE("shards are named by patterns") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "deep");
  write_file_atomically(folder / "deep/s-0.tar", tar_sample("a", 0, 0) + tar_end());
  write_file_atomically(folder / "deep/s-1.tar", tar_sample("b", 1, 0) + tar_end());
  DatasetOptions options = photographs(folder.path(), "tar");
  CHECK(contains(message_of([&] { (void)open_dataset(options, Split::train); }),
                 "contains no tar shards"));
  options.train_split = "deep/s-{0..1}.tar";
  CHECK(open_dataset(options, Split::train)->size() == 2);
  options.train_split = "deep";
  CHECK(open_dataset(options, Split::train)->size() == 2);
  options.train_split = "deep/s-{0..2}.tar";
  CHECK(contains(message_of([&] { (void)open_dataset(options, Split::train); }),
                 "s-2.tar: no such shard"));
}

}  // namespace fovea
