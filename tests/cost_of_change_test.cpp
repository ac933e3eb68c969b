// What a change costs, as CONTRIBUTING.md says, counted on everything of its kind that exists: the
// tables of the sources say what exists.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/source_tree.h"

using namespace fovea::test;

namespace {

using Names = std::set<std::string>;

bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_match(text, std::regex(pattern));
}

/// The first groups of all matches in a file of the tree.
std::vector<std::string> found_in(const std::string& file, const std::string& pattern) {
  const std::string text = slurp(kRoot / file);
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

/// The files in `found` that no pattern fits.
Names others(const Names& found, const std::string& pattern) {
  Names left;
  for (const std::string& path : found) {
    if (!matches(path, pattern)) left.insert(path);
  }
  return left;
}

/// The product's files.
std::vector<const File*> product_files() {
  std::vector<const File*> files;
  for (const File& file : tree_files()) {
    const Room* room = room_of(file.path);
    if (room != nullptr && room->is_product()) files.push_back(&file);
  }
  return files;
}

}  // namespace

TEST_CASE("an elementwise op stands in three or four files") {
  const std::map<std::string, std::string> ops{
      {"Softplus", "softplus"},    {"LogSigmoid", "logsigmoid"}, {"Silu", "silu"},
      {"QuickGelu", "quick_gelu"}, {"Minimum", "minimum"},       {"MaskedFill", "masked_fill"},
      {"Rsqrt", "rsqrt"}};
  for (const auto& entry : ops) {
    const std::string op = entry.second;
    Names found;
    for (const std::string& path : product_files_with({entry.first, op})) {
      if (matches(path, "ops/([a-z]+\\.h|elementwise/.*|common/.*)")) found.insert(path);
    }
    INFO(op, ": ", join(found));
    CHECK(found.size() >= 3);
    CHECK(found.size() <= 4);
  }
}

TEST_CASE("a family of ops is named in one list and in its own folder") {
  const std::vector<std::string> families = found_in("ops/kernels.h", "Kernels& ([a-z]+);");
  REQUIRE(families.size() >= 14);
  for (const std::string& family : families) {
    std::string type = family;
    type[0] = static_cast<char>(std::toupper(type[0]));
    const Names found = product_files_with({type + "Kernels", family + "_kernels"});
    INFO(family, ": ", join(found));
    CHECK(found.contains("ops/kernels.h"));
    CHECK(found.contains("ops/" + family + "/call.h"));
    CHECK(others(found, "ops/(kernels\\.h|" + family + "/.*)").empty());
  }
}

TEST_CASE("an instruction set is named by its row and by the kernels that use its registers") {
  const std::vector<std::string> sets = found_in("engine/cpu_isa.h", "\\{Isa::(\\w+), \"");
  REQUIRE(sets.size() >= 3);
  for (const std::string& isa : sets) {
    const Names found = product_files_with({"Isa::" + isa, "FOVEA_ISA_" + isa});
    INFO(isa, ": ", join(found));
    CHECK(found.contains("engine/cpu_isa.h"));
    CHECK(others(found,
                 "engine/cpu_isa\\.(h|cpp)|ops/(common/cpu|gemm|conv)/.*\\.h|"
                 "data/(geometry/resize_passes|augment/affine_sample)\\.cpp")
              .empty());
  }
}

namespace {

/// A setting as its field declares it: the flag, the member, and the file of the field.
struct Flag {
  std::string name, member, file;
};

std::vector<Flag> declared_flags() {
  static const std::regex field(
      "\\.(?:add|number|choice|once)\\(\\s*\"([a-z0-9-]+)\",\\s*(?:whole\\()?&[\\w.]*?(\\w+)\\)?,");
  std::vector<Flag> flags;
  for (const File* file : product_files()) {
    if (!matches(file->path, "(data|train)/.*\\.cpp")) continue;
    const std::string text = slurp(kRoot / file->path);
    for (std::sregex_iterator it(text.begin(), text.end(), field), end; it != end; ++it) {
      flags.push_back({(*it)[1], (*it)[2], file->path});
    }
  }
  return flags;
}

}  // namespace

// A member that several headers declare cannot be told apart by its name; the others show the cost.
TEST_CASE(
    "a training flag stands where its option is declared, where its field is and in its uses") {
  std::size_t counted = 0;
  const std::vector<Flag> flags = declared_flags();
  CHECK(flags.size() > 140);
  for (const Flag& flag : flags) {
    const auto same = [&](const Flag& other) { return other.member == flag.member; };
    if (std::count_if(flags.begin(), flags.end(), same) > 1) continue;
    const Names found = product_files_with({flag.member});
    const auto in_header = [](const std::string& path) { return path.ends_with(".h"); };
    if (std::count_if(found.begin(), found.end(), in_header) != 1) continue;
    ++counted;
    INFO("--", flag.name, ": ", join(found));
    CHECK(found.contains(flag.file));
    if (flag.file.starts_with("train/settings/")) continue;  // a setting of the whole run
    Names lists;
    for (const std::string& path : found) {
      if (matches(path, ".*(fields|settings|recorder|sampling)\\.cpp")) lists.insert(path);
    }
    CHECK(lists == Names{flag.file});
    if (flag.member == "grad_accum_steps") continue;  // which resuming and --auto-batch change
    // Besides, only what is derived from several settings.
    CHECK(others(found, "(?!train/(settings|start)/).*|train/settings/config.*").empty());
  }
  CHECK(counted > 40);
}

TEST_CASE("a model costs its own files, an entry in the registry and a row of names") {
  const std::string registry = slurp(kRoot / "models/registry.cpp");
  static const std::regex entry("family<(\\w+), read_(\\w+)_config>\\(\"(\\w+)\"\\)");
  std::map<std::string, std::string> headers;  // by class
  for (const std::string& header :
       found_in("models/registry.cpp", "#include \"(models/\\w+\\.h)\"")) {
    for (const std::string& type : found_in(header, "\nclass (\\w+) ")) headers[type] = header;
  }
  std::size_t families = 0;
  for (std::sregex_iterator it(registry.begin(), registry.end(), entry), end; it != end; ++it) {
    const std::string type = (*it)[1], name = (*it)[3], header = headers[type];
    INFO(name, ": ", type, " of ", header);
    ++families;
    REQUIRE(header.size() > 2);
    CHECK(exists(kRoot / (header.substr(0, header.size() - 2) + ".cpp")));
    Names readers;
    for (const File* file : product_files()) {
      for (const std::string& line : file->lines) {
        if (line == "#include \"" + header + "\"") readers.insert(file->path);
      }
    }
    // Besides the family's own: what is drawn or measured of it alone, its task, and its export.
    CHECK(others(readers,
                 "models/.*|tests/parity/.*|report/inspect/.*|train/tasks/.*|apps/tasks/.*|"
                 "export/exported_pass\\.cpp|train/start/initial_weights\\.cpp")
              .empty());
    CHECK(slurp(kRoot / "models/presets.cpp").find('"' + name + '"') != std::string::npos);
  }
  CHECK(families >= 12);
}

namespace {

/// The product's files that have a text in quotes, by the text.
std::map<std::string, Names> files_by_quoted_text() {
  static const std::regex quoted("\"([\\w-]+)\"");
  std::map<std::string, Names> files;
  for (const File* file : product_files()) {
    for (const std::string& line : file->lines) {
      const std::string code = line.substr(0, line.find("//"));
      for (std::sregex_iterator it(code.begin(), code.end(), quoted), end; it != end; ++it) {
        files[(*it)[1]].insert(file->path);
      }
    }
  }
  return files;
}

Names without(Names names, const Names& others) {
  for (const std::string& name : others) names.erase(name);
  return names;
}

}  // namespace

// Others name it only where they read files of other programs, or mean something else by the word.
TEST_CASE("a model's setting costs one line in one file") {
  std::map<std::string, Names> settings;  // with the files that describe them
  for (const File* file : product_files()) {
    if (!matches(file->path, "models/(\\w*config|linear_model)\\.cpp")) continue;
    for (const std::string& key : found_in(file->path, "\\bv\\(\\s*\"(\\w+)\",")) {
      settings[key].insert(file->path);
    }
  }
  CHECK(settings.size() > 90);
  const Names
      of_runs{"img_size",      "num_classes",    "in_chans",      "drop_path",
              "drop_rate",     "backbone",       "loss",          "attn_drop_rate",
              "pos_drop_rate", "proj_drop_rate", "scaling_factor"};  // which a run chooses or reads
                                                                     // by these names
  const std::map<std::string, Names> files = files_by_quoted_text();
  std::size_t alone = 0;
  std::map<std::string, Names> named;  // settings by the files that name them
  for (const auto& entry : settings) {
    const std::string key = entry.first;
    const Names own = entry.second;
    std::string flag = key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    Names found;
    for (const std::string& name : {key, flag}) {
      if (files.contains(name)) found.insert(files.at(name).begin(), files.at(name).end());
    }
    found = without(found, own);
    INFO(key, ": ", join(found));
    alone += found.empty() && own.size() == 1 ? 1 : 0;
    for (const std::string& path : found) named[path].insert(key);
    if (of_runs.contains(key)) continue;
    CHECK(others(found, "(?!apps/|train/(settings|start|loop|run|plan)/).*").empty());
  }
  CHECK(alone > 30);
  for (const auto& entry : named) {  // a second list would name more than a few
    if (matches(entry.first, "models/checkpoints/.*|tests/parity/.*")) continue;
    INFO(entry.first, ": ", join(entry.second));
    CHECK(entry.second.size() <= 15);
  }
}

TEST_CASE("a data set is named by its own files and one row") {
  static const std::regex own_class(
      "\nclass (\\w+) (?:final )?: public \\w*(?:Dataset|DetectionSet)\\b");
  std::size_t sets = 0;
  for (const std::string& header :
       found_in("data/dataset.cpp", "\"(data/sources/[a-z]+/.*\\.h)\"")) {
    const std::string text = slurp(kRoot / header), own = header.substr(0, header.size() - 2);
    for (std::sregex_iterator it(text.begin(), text.end(), own_class), end; it != end;
         ++it, ++sets) {
      Names found;
      for (const std::string& path : product_files_with({(*it)[1]})) {
        if (path.starts_with("data/")) found.insert(path);
      }
      INFO(std::string((*it)[1]), ": ", join(found));
      CHECK(found.contains("data/dataset.cpp"));
      CHECK(others(found, "data/dataset\\.cpp|" + own + ".*").empty());
    }
  }
  CHECK(sets >= 12);
}

TEST_CASE("a task costs five files and two rows") {
  const std::vector<std::string> tasks = found_in("models/task_kind.h", "case TaskKind::(\\w+):");
  REQUIRE(tasks.size() >= 6);
  for (const std::string& task : tasks) {
    const Names found = product_files_with({"TaskKind::" + task});
    INFO(task, ": ", join(found));
    const std::string own = "train/tasks/" + task;
    for (const char* ending : {".h", ".cpp", "_settings.cpp"})
      CHECK(exists(kRoot / (own + ending)));
    CHECK(found.contains("models/task_kind.h"));
    CHECK(found.contains("train/start/tasks.cpp"));
    if (task == "classification") continue;  // often asked of a model, and trained by two programs
    Names programs;
    for (const std::string& path : found) {
      if (matches(path, "apps/train_\\w+\\.cpp")) programs.insert(path);
    }
    CHECK(programs.size() == 1);
    // Besides: the second row, its export, the goldens' row, models, and who shows them.
    CHECK(others(found,
                 own + ".*|models/.*|(train/start|apps/tasks)/tasks\\.cpp|" + *programs.begin() +
                     "|export/exported_pass\\.cpp|report/inspect/.*|tests/parity/golden\\.cpp")
              .empty());
  }
}

TEST_CASE("a program costs its file, a line in the list and its documentation") {
  const std::vector<std::string> programs = found_in("cmake/programs.txt", "(?:^|\n)([a-z]\\w*) ");
  REQUIRE(programs.size() >= 19);
  std::string pages;
  for (const auto& page : std::filesystem::recursive_directory_iterator(kRoot / "docs")) {
    if (page.path().extension() == ".md") pages += slurp(page.path());
  }
  for (const std::string& program : programs) {
    INFO(program);
    CHECK(exists(kRoot / "apps" / (program + ".cpp")));
    CHECK(pages.find("./run " + program) != std::string::npos);
    for (const File& file : tree_files()) {
      if (!matches(file.path, "CMakeLists\\.txt|apps/CMakeLists\\.txt|cmake/.*\\.cmake")) continue;
      for (const std::string& line : file.lines) {
        const bool is_named = has_word(line.substr(0, line.find('#')), program);
        if (is_named) FAIL_CHECK(file.path, " names ", program, ": ", line);
      }
    }
  }
}

TEST_CASE("a room costs its build file, a line in the list and a line in the documents") {
  static const std::regex list(
      "CMakeLists\\.txt|cmake/.*|run|\\.ci/run|tests/CMakeLists\\.txt|"
      "tests/support/.*|tests/mutants/.*\\.py");
  for (const Room& room : rooms()) {
    if (room.name.find('/') == std::string::npos)
      continue;  // as words, folders at the top are many
    const std::regex alone("(^|.*[^\\w/])" + room.name + "/?($|[^\\w/.].*)");
    Names found;
    for (const File& file : tree_files()) {
      if (!std::regex_match(file.path, list) || file.path == room.name + "/CMakeLists.txt")
        continue;
      for (const std::string& line : file.lines) {
        if (std::regex_match(line.substr(0, line.find("//")), alone)) found.insert(file.path);
      }
    }
    INFO(room.name, ": ", join(found));
    CHECK(found.empty());  // rooms.txt and the documents are checked by tests/layering_test.cpp
  }
}
