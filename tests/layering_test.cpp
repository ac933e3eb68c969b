// Who may include whom, how long a file may get, and where special things may stand: read off the
// sources themselves. Every rule is first shown to catch a file that breaks it.
#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = FOVEA_SOURCE_DIR;

struct File {
  std::string path;  ///< from the root, with slashes
  std::vector<std::string> lines;

  [[nodiscard]] std::string folder() const { return path.substr(0, path.find('/')); }
};

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

/// The rooms that a room may include, itself always. bench, examples and tests may all.
const std::map<std::string, std::set<std::string>> kBelow = [] {
  std::map<std::string, std::set<std::string>> below = {
      {"engine/base", {}},
      {"engine", {"engine/base"}},
      {"engine/comm", {"engine/base", "engine"}},
      {"engine/formats", {"engine/base", "engine"}},
      {"ops", {"engine/base", "engine"}},
      {"models/diffusion", {"engine/base", "engine", "ops"}},
      {"models/detection", {"engine/base", "engine", "ops"}},
      {"models/depth", {"engine/base", "engine", "ops"}},
      {"data", {"engine/base", "engine", "engine/comm", "engine/formats"}},
      {"models",
       {"engine/base", "engine", "engine/formats", "ops", "models/detection", "models/depth"}},
      {"data/figures", {"engine/base", "engine", "data"}},
      {"train/optim", {"engine/base", "engine", "ops", "models/depth", "models"}},
  };
  std::set<std::string> rows;
  for (const auto& row : below) rows.insert(row.first);
  const auto add = [&](const std::string& room, std::set<std::string> besides) {
    besides.insert(rows.begin(), rows.end());
    below[room] = std::move(besides);
  };
  add("train/run", {});
  add("train/loop", {"train/run"});
  add("train/settings", {"train/run", "train/loop"});  // their options, together
  add("train/tasks", {"train/run", "train/loop", "train/settings"});
  add("train/start", {"train/run", "train/loop", "train/settings", "train/tasks"});
  add("train/plan", {"train/run", "train/loop", "train/settings", "train/start"});  // of any task
  const std::set<std::string> train = {"train/run",   "train/loop",  "train/settings",
                                       "train/tasks", "train/start", "train/plan"};
  for (const char* room : {"include", "report/inspect", "report/measures", "report", "apps"})
    add(room, train);
  below["apps"].insert({"report/inspect", "report/measures", "report"});
  (below["tests/parity"] = below["apps"]).insert("apps");
  return below;
}();

/// The room of a path: the longest row that it lies under; "" outside of all.
std::string room_of(const std::string& path) {
  for (std::string folder = path; folder.find('/') != std::string::npos;) {
    folder.resize(folder.rfind('/'));
    if (kBelow.contains(folder)) return folder;
  }
  return "";
}

Objections includes_what_is_above(const File& file) {
  const auto below = kBelow.find(room_of(file.path));
  if (below == kBelow.end()) return {};
  return lines_where(file, [&](const std::string& line) {
    const std::string room = room_of(included(line));
    return !room.empty() && room != below->first && !below->second.contains(room);
  });
}

/// A folder with rows of its own has no files beside them.
Objections stands_between_rooms(const File& file) {
  if (file.folder() != "train" || !room_of(file.path).empty()) return {};
  if (is_build_file(file.path)) return {};
  return {"train/ has rooms; this file is in none of them"};
}

/// Families, their common parts and the tables: whatever of ops/ is not on its shelf of headers.
Objections reaches_into_ops(const File& file) {
  if (room_of(file.path).empty() && file.folder() != "examples") return {};
  if (file.folder() == "ops") return {};
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
  if (file.path == "ops/product/gemm_f64.cpp") return {};  // a kernel that is compiled once
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
    {"#include <Eigen/", "ops/product/gemm_f64\\.cpp|report/measures/matrix_roots\\.cpp"},
    {"#include <stb_", "data/.*"},
    {"#include <doctest", "tests/.*"},
    {"#include <fovea/",
     "examples/.*|tests/(consumer|readme)/.*|cmake/installed_headers\\.cmake"},  // as users do
    {"#include <cuda_runtime", "engine/cuda/.*"},
    {"#include <cublas", "ops/product/cuda_cublaslt\\.h"},
    {"#include <nccl", "engine/comm/nccl\\.cpp|tests/cuda/.*"},
    {"#include <CLI/", "apps/common/cli\\.cpp"},
    {"#pragma omp", "engine/parallel\\.cpp"},
    {"__CUDACC__", "engine/device\\.h"},
    {"__CUDA_ARCH__", "ops/common/math\\.h"},
    {"-ffast-math", "no file"},
    {"case DType::bf16", "engine/dtype\\.h|ops/[a-z]+/[a-z]+\\.cu"},  // dispatch on dtypes
    {"0x7fffu +", "engine/dtype\\.h"},                                // rounding to bf16
    {".dump(",
     "engine/base/json\\.cpp|engine/formats/safetensors_header\\.cpp|tests/.*"},  // throws on no
                                                                                  // UTF-8
    {"create_directories(",
     "engine/base/files\\.cpp|bench/photographs\\.cpp|tests/.*"},  // syncs nothing
    {"mmap(",
     "tests/cuda/emulator/memory\\.cpp"},  // of a file that is cut short it ends the program
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
  if (file.lines.size() > 500) found.emplace_back("more than 500 lines");
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
  std::vector<std::string> long_file(501, "x");
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

std::vector<File> files_of_the_tree() {
  static const std::set<std::string> kinds{".h", ".cpp", ".cu", ".cuh", ".cmake", ".in"};
  std::vector<File> files;
  const auto add = [&](const fs::path& path) {
    File file{path.lexically_relative(kRoot).generic_string(), {}};
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) file.lines.push_back(line);
    files.push_back(std::move(file));
  };
  std::set<std::string> folders{"tests", "bench", "examples", "cmake"};
  for (const auto& [room, below] : kBelow) folders.insert(room.substr(0, room.find('/')));
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const bool listed = kinds.contains(entry.path().extension().string()) ||
                          entry.path().filename() == "CMakeLists.txt";
      if (entry.is_regular_file() && listed) add(entry.path());
    }
  }
  add(kRoot / "CMakeLists.txt");
  return files;
}

/// Whether a line has the word, not as a part of a longer one. Searched for without a regular
/// expression, which takes a hundred times as long on all lines of the tree.
bool has_word(const std::string& line, const std::string& word) {
  const auto in_word = [&](std::size_t at) {
    return at < line.size() &&
           (std::isalnum(static_cast<unsigned char>(line[at])) || line[at] == '_');
  };
  for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    if (!in_word(at - 1) && !in_word(at + word.size())) return true;
  }
  return false;
}

/// The files of the product, with its lists, that have one of the words.
std::set<std::string> product_files_with(const std::vector<File>& files,
                                         const std::vector<std::string>& words) {
  std::set<std::string> found;
  for (const File& file : files) {
    if (room_of(file.path).empty()) continue;
    for (const std::string& line : file.lines) {
      for (const std::string& word : words) {
        if (has_word(line, word)) found.insert(file.path);
      }
    }
  }
  return found;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

}  // namespace

TEST_CASE("every rule objects to a file that breaks it") {
  for (const Rule& rule : rules()) {
    for (const File& file : rule.broken) {
      INFO(rule.name, ": ", file.path);
      CHECK_FALSE(rule.objections(file).empty());
    }
  }
}

TEST_CASE("no file of the tree breaks a rule") {
  const std::vector<File> files = files_of_the_tree();
  CHECK(files.size() > 400);
  for (const Rule& rule : rules()) {
    for (const File& file : files) {
      if (file.path == "tests/layering_test.cpp") continue;
      for (const std::string& objection : rule.objections(file)) {
        INFO(rule.name);
        FAIL_CHECK(file.path, ": ", objection);
      }
    }
  }
}

// CONTRIBUTING.md says what a change costs; these count it on ops that exist.
TEST_CASE("an elementwise op stands in three or four files") {
  const std::vector<File> files = files_of_the_tree();
  const std::map<std::string, std::string> ops{
      {"Softplus", "softplus"},    {"LogSigmoid", "logsigmoid"}, {"Silu", "silu"},
      {"QuickGelu", "quick_gelu"}, {"Minimum", "minimum"},       {"MaskedFill", "masked_fill"},
      {"Rsqrt", "rsqrt"}};
  for (const auto& entry : ops) {
    const std::string functor = entry.first, op = entry.second;
    std::set<std::string> found;
    for (const std::string& path : product_files_with(files, {functor, op})) {
      if (matches(path, "ops/([a-z]+\\.h|elementwise/.*|common/.*)")) found.insert(path);
    }
    INFO(op, ": ", joined(found));
    CHECK(found.size() >= 3);
    CHECK(found.size() <= 4);
  }
}

TEST_CASE("a family of ops is named in one list, and its kernels in one file a side") {
  const std::vector<File> files = files_of_the_tree();
  for (const std::string family : {"softmax", "norm", "reduce", "conv"}) {
    std::string type = family;
    type[0] = static_cast<char>(std::toupper(type[0]));
    const std::set<std::string> found =
        product_files_with(files, {type + "Kernels", family + "_kernels"});
    INFO(family, ": ", joined(found));
    CHECK(found.contains("ops/kernels.h"));
    CHECK(found.contains("ops/" + family + "/call.h"));
    CHECK(found.size() <= 4);  // and cpu*.cpp, *.cu
  }
}

TEST_CASE("a flag stands where its option is declared, where its field is and where it is used") {
  const std::vector<File> files = files_of_the_tree();
  for (const char* member : {"patience_epochs", "recovery_interval", "vertical_flip", "zscore",
                             "mix_epochs", "sum_classes"}) {  // the last two are a task's
    const std::set<std::string> found = product_files_with(files, {member});
    INFO(member, ": ", joined(found));
    CHECK(found.size() == 3);
    for (const std::string& path : found) CHECK_FALSE(matches(path, "train/(settings|start)/.*"));
  }
}

TEST_CASE("a task is named by its own files, its row, its program, and what shows its models") {
  const std::vector<File> files = files_of_the_tree();
  const std::map<std::string, std::string> programs{
      {"masked_autoencoding", "train_mae"},
      {"diffusion", "(train_diffusion|sample.*|loading)"},
      {"detection", "(train_detection|evaluate|predict)"},
      {"depth", "(train_depth|evaluate|predict)"}};
  for (const auto& entry : programs) {
    const std::string task = entry.first, program = entry.second;
    for (const std::string& path : product_files_with(files, {"TaskKind::" + task})) {
      INFO(path);
      CHECK(matches(path, "train/tasks/" + task + ".*|train/start/tasks\\.cpp|apps/" + program +
                              "\\.cpp|models/.*|train/settings/model_settings\\.cpp|"
                              "(tests/parity|report/inspect)/.*"));
    }
  }
}

TEST_CASE("autoencoding is named by its own files, its row, its program, and its models") {
  const std::vector<File> files = files_of_the_tree();
  for (const std::string& path : product_files_with(files, {"TaskKind::autoencoding"})) {
    INFO(path);
    CHECK(matches(path,
                  "train/tasks/autoencoding.*|train/start/tasks\\.cpp|apps/train_vae\\.cpp|"
                  "models/.*|train/settings/model_settings\\.cpp|tests/parity/.*"));
  }
}

TEST_CASE("a data set is named by its own files and one row") {
  const std::vector<File> files = files_of_the_tree();
  const std::map<std::string, std::string> sets{
      {"TarShards", "tar_shards"}, {"Builtin", "builtin"}, {"ImageFolder", "folder"}};
  for (const auto& set : sets) {
    const std::string type = set.first, own = set.second;
    const std::set<std::string> found = product_files_with(files, {type});
    INFO(type, ": ", joined(found));
    CHECK(found.contains("data/dataset.cpp"));
    for (const std::string& path : found) {
      if (path.starts_with("data/"))
        CHECK(matches(path, "data/(dataset\\.cpp|sources/[a-z]+/" + own + ".*)"));
    }
  }
}

TEST_CASE("an instruction set is named by its row and by the kernels that use its registers") {
  const std::vector<File> files = files_of_the_tree();
  for (const std::string isa : {"v2", "v3", "v4"}) {
    const std::set<std::string> found =
        product_files_with(files, {"Isa::" + isa, "FOVEA_ISA_" + isa});
    INFO(isa, ": ", joined(found));
    CHECK(found.contains("engine/cpu_isa.h"));
    for (const std::string& path : found) {
      CHECK(matches(path,
                    "engine/cpu_isa\\.(h|cpp)|ops/(common/cpu|product|conv)/.*\\.h|"
                    "data/(geometry/resize_passes|augment/affine_sample)\\.cpp"));
    }
  }
}
