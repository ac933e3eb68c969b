// Command lines: what is understood, and what is answered to a mistake.
#include "apps/common/cli.h"

#include <doctest/doctest.h>

#include "apps/common/app.h"
#include "apps/common/help_format.h"
#include "engine/base/text.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

CommandLine parse(std::vector<std::string> words, const std::string& arguments = "") {
  TrainConfig config = config_for(TaskKind::classification);
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse_command_line(static_cast<int>(argv.size()), argv.data(),
                            {"program", "What it does.", arguments, fields_of(config)});
}

std::string value_of(const CommandLine& line, const std::string& name) {
  for (const Setting& setting : line.settings) {
    if (setting.name == name) return setting.text;
  }
  return "not given";
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    static_cast<void>(parse(words));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

int throws_error(int, char**) { fail("op: got this, expected that"); }
int throws_usage_error(int, char**) { throw UsageError("--flag: no"); }
int asks_for_help(int, char**) { throw HelpRequest{""}; }
int returns_seven(int, char**) { return 7; }

}  // namespace

TEST_CASE("flags in all their forms") {
  const CommandLine line =
      parse({"--batch_size=64", "--lr", "1e-3", "--opt-betas", "0.9", "0.99", "--model-ema",
             "--no-sched-on-updates", "--data-dir", "a_b", "--mean=1,2,3"});
  CHECK(value_of(line, "batch-size") == "64");
  CHECK(value_of(line, "lr") == "1e-3");
  CHECK(value_of(line, "opt-betas") == "0.9,0.99");
  CHECK(value_of(line, "model-ema") == "true");
  CHECK(value_of(line, "sched-on-updates") == "false");
  CHECK(value_of(line, "data-dir") == "a_b");
  CHECK(value_of(line, "mean") == "1,2,3");
  CHECK(value_of(line, "epochs") == "not given");
  CHECK(line.arguments.empty());
}

TEST_CASE("the last of several wins, negative numbers are values") {
  CHECK(value_of(parse({"--epochs", "3", "--epochs", "5"}), "epochs") == "5");
  CHECK(value_of(parse({"--lr", "-1"}), "lr") == "-1");
  CHECK(value_of(parse({"--lr-scale", "head=10", "--lr-scale=norm=2"}), "lr-scale") ==
        "head=10 norm=2");  // but of these all count
}

TEST_CASE("arguments without a flag, where the program takes them") {
  CHECK(parse({"a.png", "--epochs", "3", "b.png"}, "IMAGE...").arguments ==
        std::vector<std::string>{"a.png", "b.png"});
  CHECK(parse({"--epochs", "3", "--", "-dash.png"}, "IMAGE...").arguments ==
        std::vector<std::string>{"-dash.png"});
  CHECK(refusal({"a.png"}) == "unexpected argument a.png");
}

TEST_CASE("an unknown flag is answered with the nearest known one") {
  CHECK(refusal({"--epoch", "3"}) == "--epoch: unknown setting epoch; did you mean epochs?");
  CHECK(refusal({"--wieght_decay=3"}).find("did you mean weight-decay?") != std::string::npos);
  CHECK(refusal({"-epochs", "3"}) != "");
  CHECK(refusal({"--lr"}) != "");
  CHECK(refusal({"--mean", "1"}) == "");  // the field itself counts
}

TEST_CASE("--help lists every setting with its default") {
  try {
    static_cast<void>(parse({"--help"}));
    FAIL("no help was shown");
  } catch (const HelpRequest& help) {
    TrainConfig config = config_for(TaskKind::classification);
    for (const Field& field : fields_of(config)) {
      CAPTURE(field.name);
      CHECK(help.text.find("--" + field.name) != std::string::npos);
    }
    CHECK(help.text.find("=128") != std::string::npos);
    for (const std::string& line : lines_of(help.text)) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
    }
  }
}

TEST_CASE("an entry of --help: choices are broken after commas, descriptions between words") {
  const std::string word(40, 'x');
  CHECK(help_entry("--lr X=0.1", "rate") == "  --lr X=0.1                      rate\n");
  CHECK(help_entry("--a {" + word + "," + word + "}", word + " " + word) ==
        "  --a {" + word + ",\n          " + word + "}\n" + std::string(34, ' ') + word + "\n" +
            std::string(34, ' ') + word + "\n");
}

TEST_CASE("a paragraph of --help is joined, the rows of a table stay rows") {
  CHECK(help_lines("Shows what is\nwanted:\n  a   first\n  bc  " + std::string(60, 'x') +
                   " and more than fits") == "Shows what is wanted:\n  a   first\n  bc  " +
                                                 std::string(60, 'x') +
                                                 " and more than\n      fits\n");
}

TEST_CASE("exit codes: 1 for errors, 2 for wrong usage, 0 for help") {
  char name[] = "program";
  char* argv[] = {name, nullptr};
  CHECK(run_app(1, argv, throws_error) == 1);
  CHECK(run_app(1, argv, throws_usage_error) == 2);
  CHECK(run_app(1, argv, asks_for_help) == 0);
  CHECK(run_app(1, argv, returns_seven) == 7);
}

}  // namespace fovea
