// Which part of an argument is a folder, and when two arguments are one run.
#include "apps/common/run_argument.h"

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

struct Runs {
  TemporaryFolder folder;
  explicit Runs(const std::vector<std::string>& names) {
    for (const std::string& name : names) fs::create_directories(folder / name);
  }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder / name).string(); }
};

}  // namespace

TEST_CASE("an existing folder is one, whatever = it has") {
  const Runs runs({"lr=1e-3", "a=b=c", "plain"});
  for (const char* name : {"lr=1e-3", "a=b=c", "plain"}) {
    CAPTURE(name);
    const RunArgument run = parse_run_argument(runs.at(name));
    CHECK(run.folder == runs.at(name));
    CHECK(run.label == name);
    CHECK_FALSE(run.has_own_label);
  }
}

TEST_CASE("a label ends where a folder begins") {
  const Runs runs({"lr=1e-3", "plain"});
  CHECK(parse_run_argument("high=" + runs.at("lr=1e-3")).label == "high");
  CHECK(parse_run_argument("high=" + runs.at("lr=1e-3")).folder == runs.at("lr=1e-3"));
  const RunArgument both = parse_run_argument("lr=1e-3, wd=0=" + runs.at("lr=1e-3"));
  CHECK(both.label == "lr=1e-3, wd=0");
  CHECK(both.folder == runs.at("lr=1e-3"));
  CHECK(both.has_own_label);
}

TEST_CASE("a folder's label is its name, by whatever path it is reached") {
  const Runs runs({"plain/below"});
  for (const char* path : {"plain/", "plain//", "plain/.", "./plain/below/.."}) {
    CAPTURE(path);
    CHECK(parse_run_argument(runs.at(path)).label == "plain");
  }
  fs::create_directory_symlink(runs.at("plain"), runs.at("link"));
  CHECK(parse_run_argument(runs.at("link")).label == "link");
}

TEST_CASE("folders of equal names are labelled with the folders above them") {
  const Runs runs({"lr1/seed0", "lr2/seed0", "lr2/seed1", "x/lr1/seed0"});
  const auto labels = [&](const std::vector<std::string>& arguments) {
    std::vector<RunArgument> named;
    for (const std::string& argument : arguments) named.push_back(parse_run_argument(argument));
    distinguish(named);
    std::vector<std::string> found;
    for (const RunArgument& run : named) found.push_back(run.label);
    return found;
  };
  using Labels = std::vector<std::string>;
  CHECK(labels({runs.at("lr1/seed0"), runs.at("lr2/seed0"), runs.at("lr2/seed1")}) ==
        Labels{"lr1/seed0", "lr2/seed0", "seed1"});
  CHECK(labels({runs.at("lr1/seed0") + "/", runs.at("x/lr1/seed0")})[1] == "x/lr1/seed0");
  // Labels of the user make a group, also if they are a folder's name.
  CHECK(labels({"a=" + runs.at("lr1/seed0"), "a=" + runs.at("lr2/seed0")}) == Labels{"a", "a"});
  CHECK(labels({"seed0=" + runs.at("lr1/seed0"), runs.at("lr2/seed0")}) ==
        Labels{"seed0", "lr2/seed0"});
}

TEST_CASE("what is no folder, and what has an empty label, is refused") {
  const Runs runs({"plain"});
  const auto refusal = [](const std::string& argument) {
    return message_of([&] { (void)parse_run_argument(argument); });
  };
  CHECK(refusal("") ==
        ": no such folder, expected a run directory, as RUN_DIR or "
        "LABEL=RUN_DIR");
  CHECK(contains(refusal("none"), "none: no such folder"));
  CHECK(contains(refusal("a=none"), "a=none: no such folder"));
  CHECK(contains(refusal("/dev/null"), "/dev/null: is not a folder"));
  CHECK(contains(refusal("=" + runs.at("plain")), "the label before the = is empty"));
}

TEST_CASE("the same run is named again by a link, a slash, or the same label") {
  const Runs runs({"a", "b"});
  fs::create_directory_symlink(runs.at("a"), runs.at("link"));
  const std::vector<RunArgument> named{parse_run_argument(runs.at("a")),
                                       parse_run_argument("x=" + runs.at("b"))};
  const auto again = [&](const std::string& argument) {
    return is_named_again(parse_run_argument(argument), named);
  };
  CHECK(again(runs.at("a")));
  CHECK(again(runs.at("a/")));
  CHECK(again(runs.at("link")));
  CHECK(again(runs.at("b/../a")));
  CHECK(again("a=" + runs.at("link")));
  CHECK(again("x=" + runs.at("b/")));
  CHECK_FALSE(again("x=" + runs.at("a")));  // another seed of x
  CHECK_FALSE(again("y=" + runs.at("b")));  // a row of its own
}

}  // namespace fovea
