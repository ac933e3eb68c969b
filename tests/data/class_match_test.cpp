// Which class of a data set is which of a model's.
#include "data/classes/class_match.h"

#include <doctest/doctest.h>

#include "data/classes/class_list.h"
#include "data/sources/drawn/builtin.h"
#include "engine/base/unicode.h"
#include "tests/data/photographs.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

using namespace tests;
using Names = std::vector<std::string>;
using Labels = std::vector<std::int64_t>;

const ModelClasses kPlants{3, {"apple", "leaf", "sea"}};

ModelClasses unnamed(std::int64_t count) { return {count}; }

Names numbers(std::int64_t count) {
  Names names;
  for (std::int64_t k = 0; k < count; ++k) names.push_back(std::to_string(k));
  return names;
}

/// "2 1 by name", or why there is none.
std::string matched(const ModelClasses& model, const Names& names, bool in_label_order = false) {
  try {
    const ClassMatch match = match_classes(model, {names, in_label_order}, "w");
    std::string text;
    for (const std::int64_t label : match.labels) text += std::to_string(label) + " ";
    return text + "by " + name_of(match.by);
  } catch (const Error& error) {
    return error.what();
  }
}

std::string noticed(const ModelClasses& model, const Names& names, bool in_label_order = false) {
  const DataClasses data{names, in_label_order};
  return match_notice(model, data, match_classes(model, data, "w"));
}

}  // namespace

TEST_CASE("classes are matched by name, whatever their order and however many there are") {
  CHECK(matched(kPlants, {"apple", "leaf", "sea"}) == "0 1 2 by name");
  CHECK(matched(kPlants, {"sea", "apple", "leaf"}) == "2 0 1 by name");
  CHECK(matched(kPlants, {"leaf", "sea"}) == "1 2 by name");
  CHECK(match_classes(kPlants, {{"leaf", "sea"}}, "").text() == "2 of 3 by name");
  CHECK(noticed(kPlants, {"apple", "leaf", "sea"}).empty());
  CHECK(noticed(kPlants, {"leaf", "sea"}) ==
        "the data set has 2 of the model's 3 classes, matched by name");
  CHECK(contains(noticed(kPlants, {"sea", "apple", "leaf"}), "in another order, matched by name"));
}

TEST_CASE("a class that the model does not know is an error that names the way out") {
  const std::string message = matched(kPlants, {"leaf", "sea", "snow"});
  CHECK(contains(message,
                 "w: has no class \"snow\"; its 3 classes are apple, leaf, sea; --class-map FILE"));
  CHECK(contains(matched(kPlants, {"a", "b", "c", "d"}),
                 "\"a\" (nor 3 more of the data set); its 3"));
  CHECK(contains(matched(kPlants, {"Apple", "leaf", "sea"}), "has no class \"Apple\""));
  CHECK(matched(kPlants, {"Apple", "leaf", "sea"}).ends_with("; did you mean apple?"));
  CHECK(contains(matched(kPlants, {"apple ", "leaf", "sea"}), "has no class \"apple \""));
  CHECK_FALSE(find_match(kPlants, {{"z_apple", "leaf", "sea"}}).has_value());
}

TEST_CASE("folders that are numbers below the count are labels, where names do not say otherwise") {
  const Names partly{"0", "1", "10", "11", "2"};
  CHECK(matched(unnamed(12), partly) == "0 1 10 11 2 by number");
  CHECK(matched({12, numbers(12)}, partly) == "0 1 10 11 2 by number");
  CHECK(matched(unnamed(12), {"03", "00"}) == "3 0 by number");
  CHECK(matched(kPlants, {"2", "0"}) == "2 0 by number");
  CHECK(contains(noticed(kPlants, {"2", "0"}), "2 is \"sea\""));
  // Names of the model that are numbers in another order are names.
  CHECK(matched({12, {"0", "1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"}}, partly) ==
        "0 1 2 3 4 by name");
  CHECK(matched({3, {"1", "2", "3"}}, {"3", "1"}) == "2 0 by name");
  CHECK(matched({3, {"1", "2", "3"}}, {"03", "01"}) == "2 0 by name");
  CHECK(contains(matched({3, {"1", "2", "3"}}, {"0", "1"}), "has no class \"0\""));
  CHECK(contains(matched(kPlants, {"3", "0"}), "has no class \"3\""));
  CHECK(contains(matched(kPlants, {"1", "sea"}), "has no class \"1\""));
  CHECK(contains(matched(unnamed(2), {"0", "2"}), "by order"));
}

TEST_CASE("where a side has no names, classes are taken in their order, and this is reported") {
  CHECK(matched(unnamed(3), {"apple", "leaf", "sea"}) == "0 1 2 by order");
  CHECK(matched({3, numbers(3)}, {"apple", "leaf", "sea"}) == "0 1 2 by order");
  CHECK(noticed(unnamed(3), {"apple", "leaf", "sea"}) ==
        "the model does not name its classes: they are matched in the data set's order, class 0 is "
        "\"apple\"");
  CHECK(contains(noticed(unnamed(2), {"class10", "class9"}), "by bytes, \"10\" before \"9\""));
  CHECK(contains(
      matched(unnamed(10), {"apple", "leaf"}),
      "w: does not name its 10 classes, but the data set has 2 (apple, leaf); --class-map"));
}

TEST_CASE("synset ids, the words before them and label names are names of the same class") {
  const Names ids{"n01443537", "n01440764"};
  const ModelClasses run{2, {"tench (n01440764)", "goldfish (n01443537)"}};
  const ModelClasses hub{2, {"tench, Tinca tinca", "goldfish"}, {"n01440764", "n01443537"}};
  for (const ModelClasses& model : {run, hub}) {
    CHECK(matched(model, ids) == "1 0 by name");
    CHECK(matched(model, {"goldfish (n01443537)"}) == "1 by name");
    CHECK(matched(model, {"goldfish"}) == "1 by name");
  }
  CHECK(matched({2, {"n01440764", "n01443537"}}, {"goldfish (n01443537)"}) == "1 by name");
  // Brackets that hold no id are part of the name.
  CHECK(contains(matched({2, {"crane (bird)", "crane (machine)"}}, {"bird"}), "has no class"));
}

TEST_CASE("a name that several classes have tells nothing, nor do two names of one class") {
  const ModelClasses cranes{3, {"crane (n02012849)", "crane (n03126707)", "crane"}};
  CHECK(matched(cranes, {"crane"}) == "2 by name");  // as it stands
  CHECK(matched(cranes, {"n03126707"}) == "1 by name");
  CHECK(contains(matched({2, {"crane (n02012849)", "crane (n03126707)"}}, {"crane"}),
                 "several of its classes are named \"crane\"; --class-map"));
  CHECK(contains(matched({2, {"tench (n01)", "b"}}, {"tench", "n01"}),
                 "\"tench\" and \"n01\" of the data set both match its class \"tench (n01)\""));
  CHECK(matched({2, {"a", "a"}}, {"a", "a"}) == "0 1 by name");  // the very same list
}

TEST_CASE("a class map gives the order where its names are others") {
  CHECK(matched(kPlants, {"z_apple", "leaf", "sea"}, true) == "0 1 2 by order");
  CHECK(matched(kPlants, {"sea", "apple"}, true) == "2 0 by name");
  CHECK(contains(noticed(kPlants, {"z_apple", "leaf", "sea"}, true),
                 "in the order of the class map: the model's \"apple\" is \"z_apple\""));
  CHECK(matched(unnamed(3), {"2", "0", "1"}, true) == "0 1 2 by order");
  CHECK(noticed(unnamed(2), {"a", "b"}, true).empty());
  CHECK(contains(matched(kPlants, {"leaf", "z_apple", "sea"}, true),
                 "entry 1 of the class map is \"leaf\", the name of the model's class 1"));
  CHECK(contains(matched(kPlants, {"z_apple", "leaf"}, true),
                 "the class map has 2, some of them unknown"));
  CHECK(contains(matched(unnamed(3), {"a"}, true), "the class map has 1 (a)"));
}

TEST_CASE("images come under the model's labels and names") {
  const auto builtin = std::make_shared<Builtin>(Split::test, BuiltinOptions{.test_size = 20});
  Names turned = builtin->class_names();
  std::reverse(turned.begin(), turned.end());
  const MatchedImages shown = match_images(builtin, {10, turned}, false, "w");
  CHECK(shown.images->class_names() == turned);
  REQUIRE(shown.images->size() == 20);
  for (std::int64_t i = 0; i < 20; ++i) {
    CHECK(shown.images->label(i) == 9 - builtin->label(i));
    CHECK(shown.images->get(i).label == shown.images->label(i));
    CHECK(shown.images->get(i).image == builtin->get(i).image);
  }
  CHECK(shown.data.names == builtin->class_names());
  CHECK(match_images(builtin, {10, builtin->class_names()}, false, "w").images == builtin);
  // A model of more classes, and one without names.
  turned.push_back("circle");
  CHECK(match_images(builtin, {11, turned}, false, "w").images->classes() == 11);
  CHECK(match_images(builtin, {10}, false, "w").images->class_names() == builtin->class_names());
}

TEST_CASE("a name in two forms of Unicode is one name" * doctest::skip(!composes_text())) {
  CHECK(matched({2, {"cafe\u0301", "the"}}, {"the", "caf\u00e9"}) == "1 0 by name");
  CHECK(matched({2, {"th\u00e9", "b"}}, {"the\u0301"}) == "0 by name");
  CHECK(parse_class_map("cafe\u0301\n", "map").ids() == Names{"caf\u00e9"});
}

TEST_CASE("a class that has no images need not be known") {
  const TemporaryFolder folder;
  for (const char* const name : {"apple", "leaf", "sea", "snow"})
    write_picture(folder.path() / "train" / name / "a.png", 0);
  write_picture(folder / "val/leaf/a.png", 1);
  write_picture(folder / "val/sea/a.png", 2);
  const auto val = open_dataset(photographs(folder.path(), "folder"), Split::test);
  const MatchedImages shown = match_images(val, kPlants, false, "w");
  CHECK(shown.match.text() == "2 of 3 by name");
  CHECK(shown.data.names == Names{"leaf", "sea"});
  CHECK(shown.images->label(0) == 1);
  CHECK(shown.images->get(1).label == 2);
  write_picture(folder / "val/snow/a.png", 3);
  const auto more = open_dataset(photographs(folder.path(), "folder"), Split::test);
  CHECK(contains(message_of([&] { (void)match_images(more, kPlants, false, "w"); }),
                 "has no class \"snow\"; its 3"));
}

TEST_CASE("a class map orders or renames the classes of sets that name them themselves") {
  const TemporaryFolder folder;
  DatasetOptions options;
  options.class_map = folder / "map.txt";
  Names names = open_dataset({}, Split::test)->class_names();
  std::swap(names[0], names[3]);
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  write_file_atomically(options.class_map, text);
  const auto turned = open_dataset(options, Split::test);
  CHECK(turned->class_names() == names);
  CHECK(turned->label(0) == 3);
  write_file_atomically(options.class_map, "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
  CHECK(open_dataset(options, Split::test)->class_names()[9] == "j");
  write_file_atomically(options.class_map, "a\nb\n");
  CHECK(contains(message_of([&] { (void)open_dataset(options, Split::test); }),
                 "map.txt: names the classes a, b, expected the data set's 10 (disc, square"));
}

TEST_CASE("class folders that are numbers stand in the order of the numbers") {
  const TemporaryFolder folder;
  for (int k = 0; k < 12; ++k)
    write_picture(folder.path() / "train" / std::to_string(k) / "a.png", k);
  const auto train = open_dataset(photographs(folder.path(), "folder"), Split::train);
  CHECK(train->class_names() == numbers(12));
  for (int i = 0; i < 12; ++i)
    CHECK(train->get(i).image == numbered_image(static_cast<int>(train->label(i))));
  CHECK(in_label_order({"10", "9", "1"}) == Names{"1", "9", "10"});
  CHECK(in_label_order({"10", "9", "a"}) == Names{"10", "9", "a"});
}

}  // namespace fovea
