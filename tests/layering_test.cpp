// Who may include whom, how long a file may get, and where special things may stand: read off the
// sources themselves.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = FOVEA_SOURCE_DIR;

/// The folders that a folder may include, itself always.
const std::map<std::string, std::set<std::string>> kAllowed = {
    {"engine", {}},
    {"ops", {"engine"}},
    {"data", {"engine"}},
    {"models", {"engine", "ops"}},
    {"train", {"engine", "ops", "models", "data"}},
    {"apps", {"engine", "ops", "models", "data", "train"}},
};

/// Text that may stand only in files whose path matches the pattern.
const std::vector<std::pair<std::string, std::regex>> kOnlyIn = {
    {"#include <Eigen/", std::regex("ops/cpu/gemm_f64\\.cpp")},
    {"#include <stb_", std::regex("data/.*")},
    {"#include <doctest", std::regex("tests/.*")},
    {"#include <cuda_runtime", std::regex("(engine|ops)/cuda/.*")},
    {"#include <CLI/", std::regex("apps/cli\\.cpp")},
    {"#pragma omp", std::regex("engine/parallel\\.cpp|ops/detail/.*|ops/cpu/.*")},
    {"__CUDACC__", std::regex("engine/device\\.h|ops/detail/.*|(engine|ops)/cuda/.*")},
    {"__CUDA_ARCH__", std::regex("ops/detail/.*|ops/cuda/.*")},
    {"-ffast-math", std::regex("third_party/FoveaTargets\\.cmake")},
};

bool is_source(const fs::path& path) {
  static const std::set<std::string> kinds{".h", ".cpp", ".cu", ".cuh"};
  return kinds.contains(path.extension().string());
}

std::vector<fs::path> sources(const std::vector<std::string>& folders) {
  std::vector<fs::path> found;
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.is_regular_file() && is_source(entry.path())) found.push_back(entry.path());
    }
  }
  return found;
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const std::vector<std::string> kCode = {"engine", "ops", "data", "models", "train", "apps"};
const std::vector<std::string> kAll = {"engine", "ops",   "data",  "models",  "train",
                                       "apps",   "tests", "bench", "examples"};

}  // namespace

TEST_CASE("folders include only what stands below them") {
  const std::regex include("#include \"([a-z_]+)/.*");
  for (const fs::path& path : sources(kCode)) {
    const std::string folder = path.lexically_relative(kRoot).begin()->string();
    for (const std::string& line : lines_of(path)) {
      std::smatch match;
      if (!std::regex_match(line, match, include)) continue;
      const std::string target = match[1];
      INFO(path.string(), ": ", line);
      CHECK((target == folder || kAllowed.at(folder).contains(target)));
    }
  }
}

TEST_CASE("kernels stay private to ops") {
  const std::regex include("#include \"ops/(detail|cpu|cuda)/.*");
  for (const fs::path& path : sources({"data", "models", "train", "apps", "examples"})) {
    for (const std::string& line : lines_of(path)) {
      INFO(path.string(), ": ", line);
      CHECK_FALSE(std::regex_match(line, include));
    }
  }
}

TEST_CASE("special things stand only where they may") {
  for (const fs::path& path : sources(kAll)) {
    const std::string name = path.lexically_relative(kRoot).generic_string();
    if (name == "tests/layering_test.cpp") continue;
    for (const std::string& line : lines_of(path)) {
      for (const auto& [text, where] : kOnlyIn) {
        if (line.find(text) == std::string::npos) continue;
        INFO(name, ": ", line);
        CHECK(std::regex_match(name, where));
      }
    }
  }
}

TEST_CASE("no file is over 500 lines, no line over 100 columns, every file says what it is") {
  for (const fs::path& path : sources(kAll)) {
    const std::vector<std::string> lines = lines_of(path);
    INFO(path.string());
    CHECK(lines.size() <= 500);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.front().starts_with("//"));
    for (const std::string& line : lines) {
      INFO(line);
      CHECK(line.size() <= 110);  // bytes: a line of 100 columns may hold accented letters
    }
  }
}
