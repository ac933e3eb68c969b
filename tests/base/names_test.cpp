// Names: which one is meant, and tables of enumerations.
#include "engine/base/names.h"

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"

using namespace fovea;

namespace fovea {
enum class Fruit { apple, pear, quince };
template <>
inline constexpr auto kNames<Fruit> = std::to_array<Named<Fruit>>({{Fruit::pear, "pear"},
                                                                   {Fruit::apple, "apple"}});
}  // namespace fovea

namespace {

TEST_CASE("the nearest name is the one with the fewest edits") {
  const std::vector<std::string> names = {"batch-size", "epochs", "lr", "warmup-lr"};
  CHECK(nearest_name("bach-size", names) == "batch-size");
  CHECK(nearest_name("epoch", names) == "epochs");
  CHECK(nearest_name("rl", names) == "lr");
  CHECK(nearest_name("batch", names) == "batch-size");
}

TEST_CASE("nothing is proposed where nothing is near") {
  CHECK(nearest_name("nope", {"linear", "vit_tiny_patch4_32"}).empty());
  CHECK(nearest_name("", {"lr"}).empty());
  CHECK(nearest_name("x", {}).empty());
  CHECK(did_you_mean("nope", {"linear"}).empty());
  CHECK(did_you_mean("liner", {"linear"}) == "; did you mean linear?");
}

TEST_CASE("a table gives names and members, in its own order") {
  CHECK(name_of(Fruit::apple) == "apple");
  CHECK(names_of<Fruit>() == std::vector<std::string>{"pear", "apple"});
  CHECK(find_named<Fruit>("pear") == Fruit::pear);
  CHECK_FALSE(find_named<Fruit>("Pear").has_value());
  CHECK(parse_name<Fruit>("--fruit", "apple") == Fruit::apple);
  CHECK(message_of([] { (void)parse_name<Fruit>("--fruit", "aple"); }) ==
        "--fruit: got aple, expected one of pear, apple; did you mean apple?");
  CHECK(message_of([] { (void)name_of(Fruit::quince); }) ==
        "name_of: got the value 2, which has no name");
}

}  // namespace
