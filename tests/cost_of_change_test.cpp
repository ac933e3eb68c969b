// What a model costs, read off the sources: its own files, its entry in the registry and its row of
// names. Whoever else names a family does something that only this family has.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = FOVEA_SOURCE_DIR;
constexpr std::size_t kMaxFiles = 5;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The sources of the rooms that name the family in quotes or include its header.
std::set<std::string> files_that_name(const std::string& family) {
  const std::string header = "#include \"models/" + family + ".h\"", name = '"' + family + '"';
  std::set<std::string> found;
  for (const char* room :
       {"engine", "ops", "models", "data", "train", "report", "tests/parity", "apps"}) {
    if (!fs::exists(kRoot / room)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
      const fs::path& file = entry.path();
      if (file.extension() != ".cpp" && file.extension() != ".h") continue;
      const std::string text = text_of(file);
      const bool names = text.find(header) != text.npos || text.find(name) != text.npos;
      if (names) found.insert(fs::relative(file, kRoot).generic_string());
    }
  }
  return found;
}

struct Family {
  const char* name;
  const char* extras;  ///< who looks at what only this family has, a pattern
};

}  // namespace

TEST_CASE("a model costs its own files, an entry in the registry and a row of names") {
  const std::vector<Family> families{
      // Generators copied from other weights, and their filters drawn.
      {"cpvt", "train/.*initial_weights\\.cpp|report/inspect/parameters\\.cpp"},
      // A key of the official configuration, and Phi_p drawn.
      {"pervit", "tests/parity/models\\.cpp|report/inspect/pervit_phi\\.cpp"},
  };
  for (const Family& family : families) {
    CAPTURE(std::string(family.name));
    const std::string name = family.name;
    const std::regex extras(family.extras);
    std::set<std::string> cost{"models/" + name + ".h"};  // whether or not it says the name
    for (const std::string& file : files_that_name(name)) {
      if (!std::regex_match(file, extras)) cost.insert(file);
    }
    CHECK(cost == std::set<std::string>{"models/" + name + ".cpp", "models/" + name + ".h",
                                        "models/" + name + "_config.cpp", "models/presets.cpp",
                                        "models/registry.cpp"});
    CHECK(cost.size() <= kMaxFiles);
  }
}
