// `fovea`, which has all programs in one.
#include "apps/program_table.h"

#include <doctest/doctest.h>

#include <iostream>
#include <sstream>

#include "apps/common/app.h"
#include "engine/base/error.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

/// What `fovea` prints for these arguments where it needs no program: help, or why it is refused.
std::string answer_of_fovea(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  try {
    programs::run_fovea(static_cast<int>(arguments.size()), argv.data());
  } catch (const HelpRequest& help) {
    return help.text;
  } catch (const Error& error) {
    return error.what();
  }
  return "no answer";
}

}  // namespace

TEST_CASE("fovea lists the programs with what they do, in lines that fit a terminal") {
  const std::string list = answer_of_fovea({"fovea"});
  CHECK(list == answer_of_fovea({"fovea", "--help"}));
  CHECK(list == answer_of_fovea({"/usr/bin/fovea", "help"}));
  REQUIRE(all_programs().size() >= 19);
  for (const Program& program : all_programs()) {
    CHECK(list.find("\n  " + program.name + " ") != std::string::npos);
    CHECK(list.find(program.about + "\n") != std::string::npos);
  }
  CHECK(list.find("./run") == std::string::npos);  // the tree's command
  for (const std::string& line : lines_of(list)) CHECK(line.size() <= 80);
}

TEST_CASE("fovea gives a program its flags, and names the nearest for an unknown one") {
  CHECK(answer_of_fovea({"fovea", "compare", "--help"}).find("--output") != std::string::npos);
  CHECK(answer_of_fovea({"fovea", "--version"}).find("fovea ") == 0);
  CHECK(answer_of_fovea({"fovea", "train_cifer"}) ==
        "fovea: there is no program train_cifer; did you mean train_cifar?");
}

TEST_CASE(
    "messages of fovea name other programs as its own, those of a build folder as verbs of ./run") {
  const auto refusal = [] {
    return answer_of_fovea({"fovea", "train_cifar", "--model", "mae_vit_tiny_patch8_32"});
  };
  call_programs_by("./run");
  CHECK(program_call("sample") == "./run sample");
  CHECK(refusal().find("; fovea train_mae trains it") != std::string::npos);
  CHECK(program_call("sample") == "fovea sample");
}

TEST_CASE("under the former name of a program fovea is that program, after a note") {
  const std::ostringstream printed;
  std::streambuf* const before = std::cerr.rdbuf(printed.rdbuf());
  const std::string help = answer_of_fovea({"/opt/bin/train_cifar", "--help"});
  std::cerr.rdbuf(before);
  CHECK(help == answer_of_fovea({"fovea", "train_cifar", "--help"}));
  CHECK(printed.str() ==
        "note: this is `fovea train_cifar`; the next version will not install train_cifar\n");
}

}  // namespace fovea
