// Who may include whom, how long a file may get, and where special things may stand: read off the
// sources themselves. Every rule is first shown to catch a file that breaks it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/source_tree.h"

namespace fs = std::filesystem;
using namespace fovea::test;

namespace {

/// What a rule has against a file: a line of it, or a reason. Empty: nothing.
using Objections = std::vector<std::string>;
struct Rule {
  std::string name;
  std::function<Objections(const File&)> objections;
  std::vector<File> broken;  ///< files that the rule must object to
};

/// Patterns are few and texts are many: each pattern is compiled once.
bool matches(const std::string& text, const std::string& pattern) {
  static std::map<std::string, std::regex> compiled;
  const auto [entry, is_new] = compiled.try_emplace(pattern);
  if (is_new) entry->second = std::regex(pattern);
  return std::regex_match(text, entry->second);
}

Objections lines_where(const File& file, const std::function<bool(const std::string&)>& objects) {
  Objections found;
  for (const std::string& line : file.lines) {
    if (objects(line)) found.push_back(line);
  }
  return found;
}

/// What a line includes in quotes; empty when it includes nothing.
std::string included(const std::string& line) {
  std::smatch match;
  static const std::regex include("#include \"([^\"]+)\".*");
  return std::regex_match(line, match, include) ? match[1].str() : "";
}

bool is_build_file(const std::string& path) {
  return matches(path, ".*(CMakeLists\\.txt|\\.cmake|\\.in)");
}

Objections includes_what_is_above(const File& file) {
  const Room* own = room_of(file.path);
  if (own == nullptr || own->sees_all) return {};
  return lines_where(file, [&](const std::string& line) {
    const Room* room = room_of(included(line));
    return room != nullptr && room != own && !own->below.contains(room->name);
  });
}

/// A folder whose rooms have all the files.
Objections stands_between_rooms(const File& file) {
  const Room* room = room_of(file.path);
  if (room == nullptr || room->has_files || !file.is_code()) return {};
  return {room->name + "/ has no files of its own; this file is in none of its rooms"};
}

/// Families, their common parts and the tables: whatever of ops/ is not on its shelf of headers.
Objections reaches_into_ops(const File& file) {
  const Room* room = room_of(file.path);
  const bool is_concerned = room != nullptr && (room->is_product() || room->name == "examples");
  if (!is_concerned || room->name == "ops") return {};
  return lines_where(file, [](const std::string& line) {
    return matches(included(line), "ops/(kernels\\.h|[a-z_0-9]+/.*)");
  });
}

/// What serves runs of any task: the loop, plans, and the page about a run.
Objections knows_a_task(const File& file) {
  if (!matches(file.path, "train/(run|loop|plan)/.*|report/(page|run_report\\.h|html|compare).*")) {
    return {};
  }
  return lines_where(file, [](const std::string& line) {
    return matches(included(line),
                   "train/tasks/.*|models/(mae|vae)\\.h|report/classifier_sections\\.h");
  });
}

bool is_kernel(const std::string& path) {
  return matches(path, "ops/[a-z]+/((cpu|cuda)[a-z_0-9]*\\.(cpp|h)|[a-z_0-9]*\\.cuh?)");
}

/// Above the border of ops/kernels.h: no loops over elements, no threads, no question which device.
Objections computes_above_the_border(const File& file) {
  if (!matches(file.path, "ops/[a-z]+/[a-z_0-9]+\\.(cpp|h)") || is_kernel(file.path)) return {};
  if (file.folder() != "ops" || file.path.starts_with("ops/common/")) return {};
  if (file.path == "ops/gemm/gemm_f64.cpp") return {};  // a kernel that is compiled once
  return lines_where(file, [](const std::string& line) {
    return matches(line, ".*(parallel_for|engine/parallel\\.h|data<|is_cuda|is_cpu|require_cpu).*");
  });
}

/// Below it: the family's own calls and what is common, and of the engine what is plain numbers.
Objections kernels_see_tensors(const File& file) {
  if (!matches(file.path, "ops/[a-z]+/cpu[a-z_0-9]*\\.(cpp|h)")) return {};
  const std::string own = file.path.substr(0, file.path.rfind('/') + 1);
  return lines_where(file, [&](const std::string& line) {
    const std::string target = included(line);
    return !target.empty() && !target.starts_with(own) && !target.starts_with("ops/common/") &&
           !matches(target, "engine/(device|dtype|kernels?|parallel|rng)\\.h");
  });
}

/// Text that may stand only in files whose path matches the pattern.
struct Place {
  const char* text;
  const char* where;
};
const std::vector<Place> kPlaces = {
    {"#include <Eigen/", "ops/gemm/gemm_f64\\.cpp|report/measures/matrix_roots\\.cpp"},
    {"#include <stb_", "data/.*"},
    {"#include <doctest", "tests/.*"},
    {"#include <fovea/",
     "examples/.*|tests/(consumer|readme)/.*|cmake/installed_headers\\.cmake"},  // as users do
    {"#include <cuda_runtime", "engine/cuda/.*"},
    {"#include <cublas", "ops/gemm/cuda_cublaslt\\.h"},
    {"#include <nccl", "engine/comm/nccl\\.cpp|tests/cuda/.*"},
    {"#include <CLI/", "apps/common/cli\\.cpp"},
    {"#pragma omp", "engine/parallel\\.cpp"},
    {"__CUDACC__", "engine/device\\.h"},
    {"__CUDA_ARCH__", "ops/common/(math|exact)\\.h|engine/cuda/tensor_core\\.cuh"},
    {"-ffast-math", "no file"},
    {"case DType::bf16", "engine/dtype\\.h|ops/[a-z]+/[a-z]+\\.cu"},  // dispatch on dtypes
    {"0x7fffu +", "engine/dtype\\.h"},                                // rounding to bf16
    {".dump(",
     "engine/base/json\\.cpp|engine/formats/safetensors_header\\.cpp|tests/.*"},  // throws on no
                                                                                  // UTF-8
    {"create_directories(",
     "engine/base/files\\.cpp|bench/photographs\\.cpp|tests/.*"},         // syncs nothing
    {"::fork()", "data/sources/dense/nyu/child_process\\.cpp|tests/.*"},  // other threads may run
    {"mmap(",
     "tests/cuda/emulator/memory\\.cpp"},  // of a file that is cut short it ends the program
    {"require_device(", "(engine|train|tests/cuda)/.*|apps/common/computing\\.cpp"},  // says more
    {"extern const Kernels kernels;",
     "ops/(kernels\\.cpp|table\\.cpp\\.in|CMakeLists\\.txt)|tests/ops/kernel_tables_test\\.cpp"},
};

Objections stands_elsewhere(const File& file) {
  return lines_where(file, [&](const std::string& line) {
    const std::string code = line.substr(0, line.find(is_build_file(file.path) ? "# " : "// "));
    for (const Place& place : kPlaces) {
      if (code.find(place.text) != std::string::npos && !matches(file.path, place.where)) {
        return true;
      }
    }
    return false;
  });
}

Objections is_misshapen(const File& file) {
  if (is_build_file(file.path)) return {};
  Objections found = lines_where(file, [](const std::string& line) {
    return line.size() > 110;  // bytes: a line of 100 columns may hold accented letters
  });
  const std::size_t most =
      file.folder() == "tests" && !file.path.starts_with("tests/parity/") ? 500 : 400;
  if (file.lines.size() > most) found.push_back("more than " + std::to_string(most) + " lines");
  if (file.lines.empty() || !file.lines.front().starts_with("//")) {
    found.emplace_back("the first line does not say what the file is");
  }
  return found;
}

/// The text of the tree's public functions, one a line: "[[nodiscard]] type name(parameters);".
std::vector<std::string> declarations(const File& file) {
  std::string text;
  for (const std::string& line : file.lines) text += line.substr(0, line.find("//")) + " ";
  std::vector<std::string> found;
  static const std::regex declaration(
      "\\[\\[nodiscard\\]\\] [A-Za-z_:<>, ]+ ([a-z_0-9]+)\\(([^;]*?)\\)(;| \\{| const)");
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
    found.push_back((*it)[1].str() + "(" + (*it)[2].str() + ")");
  }
  return found;
}

/// Parameters of a declaration; commas inside <> and {} separate none.
int parameter_count(const std::string& declaration) {
  const std::string inside = declaration.substr(declaration.find('(') + 1);
  int depth = 0, count = inside.size() > 1 ? 1 : 0;
  for (const char c : inside) {
    depth += c == '<' || c == '{' || c == '(' ? 1 : c == '>' || c == '}' || c == ')' ? -1 : 0;
    count += c == ',' && depth == 0 ? 1 : 0;
  }
  return count;
}

/// At most four parameters, and options after them.
Objections takes_many_parameters(const File& file) {
  if (!matches(file.path, "(ops|engine)/[a-z_0-9]+\\.h")) return {};
  Objections found;
  for (const std::string& declaration : declarations(file)) {
    const bool options = matches(declaration, ".*Options& options.*|.*Options options.*");
    if (parameter_count(declaration) > 4 + (options ? 1 : 0)) found.push_back(declaration);
  }
  return found;
}

std::vector<Rule> rules() {
  std::vector<std::string> long_file(401, "x");
  long_file[0] = "// Long.";
  std::vector<Rule> all = {
      {"folders include only what stands below them",
       includes_what_is_above,
       {{"engine/a.cpp", {"#include \"ops/view.h\""}},
        {"data/a.h", {"#include \"models/vit.h\""}},
        {"models/a.h", {"#include \"train/loop/step.h\"  // why"}},
        {"train/loop/a.h", {"#include \"train/tasks/metrics.h\""}},
        {"train/run/a.h", {"#include \"train/settings/config.h\""}},
        {"train/settings/a.h", {"#include \"train/tasks/classification.h\""}},
        {"train/plan/a.h", {"#include \"train/tasks/hole_filling.h\""}},
        {"report/a.h", {"#include \"include/fovea/fovea.h\""}}}},
      {"a folder of rooms holds nothing else",
       stands_between_rooms,
       {{"train/a.h", {"// A file."}}}},
      {"families and tables stay private to ops",
       reaches_into_ops,
       {{"models/a.h", {"#include \"ops/attention/call.h\""}},
        {"train/run/a.cpp", {"#include \"ops/kernels.h\""}},
        {"examples/a.cpp", {"#include \"ops/common/math.h\""}}}},
      {"ops compute below the border alone",
       computes_above_the_border,
       {{"ops/softmax/softmax.cpp", {"  parallel_for(n, 1, [&](auto begin, auto end) {"}},
        {"ops/loss/loss.cpp", {"  const float* p = x.data<float>();"}},
        {"ops/norm/planes.h", {"  if (x.device().is_cuda()) return;"}}}},
      {"kernels see plain numbers alone",
       kernels_see_tensors,
       {{"ops/softmax/cpu.cpp", {"#include \"engine/tensor.h\""}},
        {"ops/norm/cpu_rows.cpp", {"#include \"ops/reduce/call.h\""}},
        {"ops/conv/cpu_dense.h", {"#include \"ops/view.h\""}}}},
      {"special things stand only where they may", stands_elsewhere, {}},
      {"files are short and say what they are",
       is_misshapen,
       {{"engine/a.h", {"#pragma once"}},
        {"engine/b.h", {"// Wide.", std::string(111, 'x')}},
        {"engine/c.h", long_file}}},
      {"public functions take four parameters and options",
       takes_many_parameters,
       {{"ops/a.h",
         {"[[nodiscard]] Tensor f(const Tensor& a, int b, int c, int d,", "    int e);"}},
        {"ops/b.h",
         {"[[nodiscard]] Tensor f(const Tensor& a, std::pair<int, int> b, int c, int d, int e,",
          "                       FOptions options = {});"}}}},
      {"what is trained is known behind the seam of tasks alone",
       knows_a_task,
       {{"train/loop/trainer.cpp", {"#include \"models/mae.h\""}},
        {"report/page.cpp", {"#include \"train/tasks/metrics.h\""}}}},
  };
  for (const Place& place : kPlaces) {
    all[5].broken.push_back({"models/third_party.cmake", {std::string(place.text) + "x>"}});
  }
  return all;
}

/// Folders with a build file, and folders at the top, that the list lacks.
std::set<std::string> missing_rooms(const Rooms& listed) {
  std::set<std::string> names, tops, missing;
  for (const Room& room : listed) {
    names.insert(room.name);
    tops.insert(room.top());
  }
  for (const File& file : tree_files()) {
    if (!file.path.ends_with("/CMakeLists.txt") || file.folder() == "tests") continue;
    const std::string folder = file.path.substr(0, file.path.rfind('/'));
    if (!names.contains(folder)) missing.insert(folder);
  }
  static const std::regex not_kept("build.*|runs|datasets|\\..*|__pycache__");  // as in .gitignore
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && !std::regex_match(name, not_kept) && !tops.contains(name))
      missing.insert(name);
  }
  return missing;
}

/// The rooms that a page does not name; in the pattern `form`, % stands for the name.
std::set<std::string> unnamed_rooms(const std::string& page, const std::string& form, bool tops) {
  const std::vector<std::string> lines = lines_of(slurp(kRoot / page));
  std::set<std::string> missing;
  for (const Room& room : rooms()) {
    const std::string name = tops ? room.top() : room.name;
    std::string pattern = form;
    pattern.replace(pattern.find('%'), 1, name);
    const auto names_it = [&](const std::string& line) { return matches(line, pattern); };
    if (std::none_of(lines.begin(), lines.end(), names_it)) missing.insert(name);
  }
  return missing;
}

/// Folders at the top that may, by way of their rooms, include each other in a circle.
std::set<std::string> in_a_circle(const Rooms& listed) {
  std::map<std::string, std::set<std::string>> below;
  for (const Room& room : listed) {
    below[room.top()];
    for (const std::string& name : room.below) {
      const std::string top = name.substr(0, name.find('/'));
      if (top != room.top()) below[room.top()].insert(top);
    }
  }
  for (bool removes = true; removes;) {
    removes = false;
    for (auto it = below.begin(); it != below.end();) {
      const bool is_free = std::none_of(it->second.begin(), it->second.end(),
                                        [&](const auto& top) { return below.contains(top); });
      it = is_free ? below.erase(it) : std::next(it);
      removes = removes || is_free;
    }
  }
  std::set<std::string> left;
  for (const auto& entry : below) left.insert(entry.first);
  return left;
}

}  // namespace

TEST_CASE("a list of rooms says what each may include") {
  const Rooms read =
      parse_rooms("# a, b\n\na\nb/c  ..a\nd\nb    ..b/c\ne    *\nf    -\ng  b ..a\n");
  REQUIRE(read.size() == 7);
  CHECK(read[1].below == std::set<std::string>{"a"});
  CHECK(read[3].below == std::set<std::string>{"a", "b/c"});
  CHECK(read[4].sees_all);
  CHECK_FALSE(read[5].has_files);
  CHECK(read[6].below == std::set<std::string>{"a", "b"});
}

TEST_CASE("every room stands in the list and in the documents") {
  Rooms short_list = rooms();
  std::erase_if(short_list, [](const Room& room) {
    return room.name == "engine/comm" || room.name == "recipes";
  });
  CHECK(missing_rooms(short_list) == std::set<std::string>{"engine/comm", "recipes"});
  CHECK(missing_rooms(rooms()).empty());
  INFO(join(unnamed_rooms("docs/reading-order.md", ".*`%/`.*", false)));
  CHECK(unnamed_rooms("docs/reading-order.md", ".*`%/`.*", false).empty());
  INFO(join(unnamed_rooms("README.md", "(.*  )?%/( .*|$)", true)));
  CHECK(unnamed_rooms("README.md", "(.*  )?%/( .*|$)", true).empty());
}

TEST_CASE("the folders at the top include each other without a circle") {
  CHECK(in_a_circle(parse_rooms("a\nb/x  ..a\nc  ..b/x\nb  ..c\n")) ==
        std::set<std::string>{"b", "c"});
  CHECK(in_a_circle(rooms()).empty());
}

TEST_CASE("every rule objects to a file that breaks it") {
  for (const Rule& rule : rules()) {
    for (const File& file : rule.broken) {
      INFO(rule.name, ": ", file.path);
      CHECK_FALSE(rule.objections(file).empty());
    }
  }
}

TEST_CASE("no file of the tree breaks a rule") {
  CHECK(tree_files().size() > 400);
  for (const Rule& rule : rules()) {
    for (const File& file : tree_files()) {
      const bool is_script = !file.is_code() && !is_build_file(file.path);
      if (file.path == "tests/layering_test.cpp" || is_script) continue;
      for (const std::string& objection : rule.objections(file)) {
        INFO(rule.name);
        FAIL_CHECK(file.path, ": ", objection);
      }
    }
  }
}
