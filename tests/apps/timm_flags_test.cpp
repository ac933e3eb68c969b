// docs/timm-flags.md against timm's names, which stand in timm_flags.txt, and against the programs.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "apps/tasks/evaluate_request.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "train/start/tasks.h"

using namespace fovea;

namespace {

/// An item of the page's lists: "- `--a`, `--b`: remark".
struct Item {
  std::string script;              ///< timm's script, from the section's heading
  std::string kind;                ///< the list's heading: "Same name", "Other name", "Not here"
  std::vector<std::string> flags;  ///< timm's flags before the colon, without the dashes
  std::string remark;              ///< the text after the colon
};

std::vector<std::string> flags_in(const std::string& text) {
  static const std::regex flag("--([a-zA-Z][a-zA-Z0-9_-]*)");
  std::vector<std::string> flags;
  for (std::sregex_iterator i(text.begin(), text.end(), flag), none; i != none; ++i) {
    flags.push_back((*i)[1].str());
  }
  return flags;
}

std::vector<Item> items_of_page() {
  static const std::regex names("`[^`]+`(, `[^`]+`)*");
  std::string script, kind;
  std::vector<Item> items;
  std::vector<std::string> texts;  // of the items, with their lines joined
  for (const std::string& line : lines_of(read_file(FOVEA_SOURCE_DIR "/docs/timm-flags.md"))) {
    if (line.starts_with("## ")) script = line.substr(3, line.find(' ', 3) - 3);
    if (line.starts_with("#")) kind = line.starts_with("### ") ? line.substr(4) : "";
    if (line.starts_with("- ")) {
      items.push_back({script, kind, {}, ""});
      texts.push_back(line.substr(2));
    } else if (line.starts_with("  ")) {
      REQUIRE_MESSAGE(!texts.empty(), line);
      texts.back() += line.substr(1);
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t colon = std::min(texts[i].find(": "), texts[i].size());
    const std::string head = texts[i].substr(0, colon);
    REQUIRE_MESSAGE(std::regex_match(head, names), texts[i]);
    items[i].flags = flags_in(head);
    if (colon < texts[i].size()) items[i].remark = texts[i].substr(colon + 2);
  }
  return items;
}

using Names = std::map<std::string, std::set<std::string>>;  ///< by script

Names names_of_timm() {
  Names names;
  for (const std::string& line : lines_of(read_file(FOVEA_TESTS "/apps/timm_flags.txt"))) {
    if (line.starts_with("#")) continue;
    const std::vector<std::string> words = split_words(line);
    REQUIRE_MESSAGE(words.size() == 2, line);
    CHECK_MESSAGE(names[words[0]].insert(words[1].substr(2)).second, line);
  }
  return names;
}

/// What the program has that stands for a script of timm's.
Names flags_of_programs() {
  Names names;
  TrainConfig training = config_for(TaskKind::classification);
  for (const Field& field : fields_of(training)) names["train.py"].insert(field.name);
  EvaluateRequest evaluation;
  for (const Field& field : fields_of(evaluation)) names["validate.py"].insert(field.name);
  return names;
}

}  // namespace

TEST_CASE("docs/timm-flags.md has each flag of timm's scripts in one item, and no other") {
  Names on_page;
  for (const Item& item : items_of_page()) {
    for (const std::string& flag : item.flags) {
      CHECK_MESSAGE(on_page[item.script].insert(flag).second, item.script << " --" << flag);
    }
  }
  const Names timm = names_of_timm();
  CHECK(timm.at("train.py").size() > 200);
  CHECK(timm.at("validate.py").size() > 50);
  for (const auto& [of_script, names] : timm) {
    const std::string script = of_script;  // clang 14 captures no binding in a message
    for (const std::string& name : names) {
      CHECK_MESSAGE(on_page[script].contains(name), script << " --" << name << " is missing");
    }
    for (const std::string& name : on_page[script]) {
      CHECK_MESSAGE(names.contains(name), script << " --" << name << " is none of timm's");
    }
  }
}

TEST_CASE("what docs/timm-flags.md says of a flag is so") {
  const Names programs = flags_of_programs();
  for (const Item& item : items_of_page()) {
    const std::set<std::string>& ours = programs.at(item.script);
    const bool is_same = item.kind == "Same name", is_absent = item.kind == "Not here";
    const bool has_other_name = item.kind == "Other name";
    CAPTURE(item.script);
    for (const std::string& flag : item.flags) {
      CAPTURE(flag);
      CHECK(is_same + is_absent + has_other_name == 1);
      CHECK(ours.contains(flag) == is_same);
    }
    for (const std::string& named : flags_in(item.remark)) {
      CHECK_MESSAGE(ours.contains(named), named);
    }
    CAPTURE(item.remark);
    CHECK((!is_absent || !split_words(item.remark).empty()));
    CHECK((!has_other_name || item.remark.find('`') != std::string::npos));
  }
}

TEST_CASE("docs/timm-flags.md names the other names of timm's that training accepts") {
  const std::string page = read_file(FOVEA_SOURCE_DIR "/docs/timm-flags.md");
  const std::size_t first = page.find("Training also accepts"), end = page.find("\n\n", first);
  REQUIRE(end != std::string::npos);
  const std::vector<std::string> listed = flags_in(page.substr(first, end - first));

  const std::set<std::string> timm = names_of_timm().at("train.py");
  TrainConfig training = config_for(TaskKind::classification);
  std::set<std::string> accepted;
  for (const Field& field : fields_of(training)) {
    for (const std::string& name : field.other_names)
      if (timm.contains(name)) accepted.insert(name);
  }
  CHECK(std::set<std::string>(listed.begin(), listed.end()) == accepted);
}
