// The validation images that --val-fraction holds out of class folders by their names.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "data/sources/files/split_folders.h"
#include "data/sources/subset.h"
#include "engine/base/unicode.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using namespace tests;

using NameSet = std::set<std::string>;

/// Writes empty files: the split does not read pictures.
void add_pictures(const fs::path& folder, int from, int to) {
  fs::create_directories(folder);
  for (int i = from; i < to; ++i) {
    write_file_atomically(folder / ("IMG_" + std::to_string(i) + ".jpg"), "");
  }
}

DatasetOptions by_name(const fs::path& root, double fraction = 0.1, std::uint64_t seed = 0) {
  DatasetOptions options = photographs(root, "folder");
  options.val_fraction = fraction;
  options.val_rule = HoldOutRule::name;
  options.val_seed = seed;
  return options;
}

/// Paths below the data folder.
NameSet names_of(const DatasetOptions& options, Split split) {
  const auto images = open_dataset(options, split);
  NameSet names;
  for (std::int64_t i = 0; i < images->size(); ++i) {
    names.insert(fs::path(images->describe(i)).lexically_relative(options.data_dir).string());
  }
  return names;
}

NameSet held(const DatasetOptions& options) { return names_of(options, Split::test); }

/// Number of names that start with each class's folder.
std::map<std::string, int> counts_of(const NameSet& names) {
  std::map<std::string, int> counts;
  for (const std::string& name : names) ++counts[name.substr(0, name.find('/'))];
  return counts;
}

}  // namespace

TEST_CASE("each picture is held out or trained on, about the fraction of every class") {
  const TemporaryFolder folder;
  for (const char* const name : {"cat", "dog", "emu"}) add_pictures(folder / name, 0, 300);
  const DatasetOptions options = by_name(folder.path());
  const NameSet tested = held(options), trained = names_of(options, Split::train);
  CHECK(tested.size() + trained.size() == 900);
  for (const std::string& name : tested) CHECK_FALSE(trained.contains(name));
  for (const auto& [of_class, count] : counts_of(tested)) {
    const std::string name = of_class;
    CAPTURE(name);
    CHECK(count > 15);
    CHECK(count < 45);
  }
  CHECK(held(options) == tested);
}

TEST_CASE("pictures and classes that are added move no others") {
  const TemporaryFolder folder;
  for (const char* const name : {"cat", "dog"}) add_pictures(folder / name, 0, 60);
  const DatasetOptions options = by_name(folder.path());
  const NameSet tested = held(options), trained = names_of(options, Split::train);
  add_pictures(folder / "cat", 60, 90);
  add_pictures(folder / "a new class", 0, 40);  // the first: all labels change
  add_pictures(folder / "dog/deeper", 0, 20);
  const NameSet later = held(options), trained_later = names_of(options, Split::train);
  for (const std::string& name : tested) CHECK(later.contains(name));
  for (const std::string& name : trained) CHECK(trained_later.contains(name));
  CHECK(later.size() > tested.size());
}

TEST_CASE("another seed and another fraction choose other pictures, larger fractions more") {
  const TemporaryFolder folder, elsewhere;
  add_pictures(folder / "cat", 0, 200);
  const NameSet tested = held(by_name(folder.path()));
  CHECK(held(by_name(folder.path(), 0.1, 1)) != tested);
  const NameSet more = held(by_name(folder.path(), 0.3));
  CHECK(more.size() > tested.size());
  for (const std::string& name : tested) CHECK(more.contains(name));
  add_pictures(elsewhere / "cat", 0, 200);  // the path of the folder does not matter
  CHECK(held(by_name(elsewhere.path())) == tested);
  // Stated, so that another machine and another version choose the same ones.
  CHECK(*tested.begin() == "cat/IMG_109.jpg");
}

TEST_CASE("a class of two or more has pictures for both, a class of one is trained on") {
  for (const double fraction : {0.001, 0.1, 0.9, 0.99}) {
    CAPTURE(fraction);
    const TemporaryFolder folder;
    for (int count = 1; count <= 3; ++count) {
      add_pictures(folder / std::to_string(count), 0, count);
    }
    const DatasetOptions options = by_name(folder.path(), fraction);
    std::map<std::string, int> tested = counts_of(held(options)),
                               trained = counts_of(names_of(options, Split::train));
    CHECK(tested["1"] == 0);
    CHECK(trained["1"] == 1);
    for (const int count : {2, 3}) {
      const std::string name = std::to_string(count);
      CHECK(tested[name] >= 1);
      CHECK(trained[name] >= 1);
      CHECK(tested[name] + trained[name] == count);
    }
  }
}

TEST_CASE("no picture to train on becomes one to test on while a class grows") {
  const TemporaryFolder folder;
  add_pictures(folder / "cat", 0, 2);
  const DatasetOptions options = by_name(folder.path());
  for (int count = 2; count < 40; ++count) {
    CAPTURE(count);
    const NameSet trained = names_of(options, Split::train);
    add_pictures(folder / "cat", count, count + 1);
    const NameSet tested = held(options);
    CHECK_FALSE(tested.empty());
    for (const std::string& name : trained) CHECK_FALSE(tested.contains(name));
  }
}

TEST_CASE("an empty class and a folder without classes are reported") {
  const TemporaryFolder folder;
  add_pictures(folder / "cat", 0, 4);
  fs::create_directories(folder / "dog");
  const DatasetOptions options = by_name(folder.path());
  CHECK(contains(open_dataset(options, Split::train)->notice(), "1 of 2 classes have no pictures"));
  const TemporaryFolder alone;
  add_pictures(alone / "cat", 0, 1);
  CHECK(
      contains(message_of([&] { (void)held(by_name(alone.path())); }), "no class has two images"));
  const TemporaryFolder nothing;
  CHECK_FALSE(is_one_folder(photographs(nothing.path(), "folder")));
}

TEST_CASE("the two forms of a name in Unicode are one picture" * doctest::skip(!composes_text())) {
  const TemporaryFolder composed, decomposed;
  for (int i = 0; i < 60; ++i) {
    const std::string tail = "_" + std::to_string(i) + ".jpg";
    add_pictures(composed / "caf\xC3\xA9", 0, 1);
    add_pictures(decomposed / "cafe\xCC\x81", 0, 1);
    write_file_atomically(composed / ("caf\xC3\xA9/\xC3\xBC" + tail), "");
    write_file_atomically(decomposed / ("cafe\xCC\x81/u\xCC\x88" + tail), "");
  }
  NameSet first, second;
  for (const std::string& name : held(by_name(composed.path()))) first.insert(composed_text(name));
  for (const std::string& name : held(by_name(decomposed.path())))
    second.insert(composed_text(name));
  CHECK(first == second);
}

TEST_CASE("only a folder of classes without folders of splits is one folder") {
  const TemporaryFolder folder;
  add_pictures(folder / "cat", 0, 2);
  CHECK(is_one_folder(photographs(folder.path(), "folder")));
  DatasetOptions named = photographs(folder.path(), "folder");
  named.train_split = "cat";
  CHECK_FALSE(is_one_folder(named));
  add_pictures(folder / "val/cat", 0, 2);
  CHECK_FALSE(is_one_folder(photographs(folder.path(), "folder")));
}

}  // namespace fovea
