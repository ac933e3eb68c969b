// Comments that name a file, a folder or a member of a type: what they name must exist.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/source_tree.h"

namespace fs = std::filesystem;

using namespace fovea::test;

namespace {

/// Names that comments may use although the tree has no such thing: files of other projects.
const std::set<std::string> kForeign = {"data/auto_augment.py", "Lib/pickletools.py"};

/// What the tree has: paths, names of files and folders, identifiers of the code.
struct Tree {
  std::set<std::string> paths, names, identifiers;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void add_identifiers(const std::string& line, std::set<std::string>& found) {
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i;
    while (end < line.size() && is_word(line[end])) ++end;
    if (end > i) found.insert(line.substr(i, end - i));
    i = end + 1;
  }
}

/// The comment of a line, without its slashes; "" where it has none.
std::string comment_of(const std::string& line) {
  const std::size_t at = line.find("//");
  const bool in_address = at != std::string::npos && at > 0 && line[at - 1] == ':';  // https://
  const bool closes = line.find("}  // namespace") != std::string::npos;
  if (at == std::string::npos || in_address || closes) return "";
  return line.substr(std::min(line.find_first_not_of("/< ", at), line.size()));
}

Tree read_tree() {
  Tree tree{top_folders(), {}, {}};
  for (const File& file : tree_files()) {
    const fs::path path = file.path;
    for (fs::path part = path; part.has_filename(); part = part.parent_path()) {
      tree.paths.insert(part.generic_string());
    }
    tree.names.insert(path.filename().string());
    if (!file.is_code()) continue;
    for (const std::string& line : file.lines) {
      add_identifiers(line.substr(0, line.find("//")), tree.identifiers);
    }
  }
  return tree;
}

bool ends_with_path(const std::set<std::string>& paths, const std::string& tail) {
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& path) { return path.ends_with("/" + tail); });
}

/// The files that a comment names and the tree lacks. Patterns (*) are left alone.
void check_files(const std::string& comment, const Tree& tree, std::vector<std::string>& lacking) {
  static const std::regex file("[\\w./*{}<>,-]*\\w\\.(h|cpp|cu|cuh|py|sh|cmake)\\b");
  for (std::sregex_iterator it(comment.begin(), comment.end(), file), end; it != end; ++it) {
    const std::string name = it->str();
    if (name.find_first_of("*{<") != std::string::npos || kForeign.contains(name)) continue;
    const bool known = name.find('/') == std::string::npos
                           ? tree.names.contains(name) || tree.names.contains(name + ".in")
                           : tree.paths.contains(name) || ends_with_path(tree.paths, name);
    if (!known) lacking.push_back(name);
  }
}

/// The folders: "train/loop/" with its slash at the end.
void check_folders(const std::string& comment, const Tree& tree,
                   std::vector<std::string>& lacking) {
  static const std::regex folder("(^|[ (\"])([a-z]+(/[a-z_]+)*)/($|[ .,;:)\"])");
  for (std::sregex_iterator it(comment.begin(), comment.end(), folder), end; it != end; ++it) {
    const std::string name = (*it)[2];
    const std::string room = name.substr(0, name.find('/'));
    if (!top_folders().contains(room)) continue;
    if (!tree.paths.contains(name)) lacking.push_back(name + "/");
  }
}

/// "Type::member": both must be identifiers of the code.
void check_members(const std::string& comment, const Tree& tree,
                   std::vector<std::string>& lacking) {
  static const std::regex member("\\b([A-Z]\\w+)::(\\w+)");
  for (std::sregex_iterator it(comment.begin(), comment.end(), member), end; it != end; ++it) {
    const std::string type = (*it)[1], name = (*it)[2];
    if (tree.identifiers.contains(type) && tree.identifiers.contains(name)) continue;
    lacking.push_back(it->str());
  }
}

std::vector<std::string> lacking_names(const std::string& comment, const Tree& tree) {
  std::vector<std::string> lacking;
  if (comment.find('.') != std::string::npos) check_files(comment, tree, lacking);
  if (comment.find('/') != std::string::npos) check_folders(comment, tree, lacking);
  if (comment.find("::") != std::string::npos) check_members(comment, tree, lacking);
  return lacking;
}

}  // namespace

TEST_CASE("a comment that names what does not exist is found") {
  const Tree tree{{"train", "train/loop", "train/loop/step.h", "ops/softmax/cpu.cpp"},
                  {"step.h", "cpu.cpp"},
                  {"Context", "step"}};
  const auto lacking = [&](const std::string& line) {
    return lacking_names(comment_of(line), tree).size();
  };
  CHECK(lacking("int a;  // see train/loop/step.h and softmax/cpu.cpp") == 0);
  CHECK(lacking("int a;  ///< Context::step, in train/loop/; ops/*/cpu.cpp") == 0);
  CHECK(lacking("// Private to train/golden/.") == 1);
  CHECK(lacking("// see train/step.h") == 1);
  CHECK(lacking("// gone.cpp has it") == 1);
  CHECK(lacking("// as Context::stage says") == 1);
  CHECK(lacking("// as Mode::step says") == 1);
}

TEST_CASE("what comments name exists") {
  const Tree tree = read_tree();
  CHECK(tree.identifiers.size() > 5000);
  for (const File& file : tree_files()) {
    if (!file.is_code() || file.path == "tests/comments_test.cpp") continue;
    for (const std::string& line : file.lines) {
      for (const std::string& name : lacking_names(comment_of(line), tree)) {
        FAIL_CHECK(file.path, " names ", name, ": ", line);
      }
    }
  }
}
