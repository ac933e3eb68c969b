// Parsing of run arguments. A run's folder name may contain settings, and so "="; existing folders
// resolve the ambiguity.
#include "apps/common/run_argument.h"

#include <algorithm>

#include "engine/base/error.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

/// The name "a" of "runs/a", of "runs/a/" and, inside that folder, of ".".
std::string last_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  const fs::path name = whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  return name.empty() ? folder.string() : name.string();
}

/// The last names of the folder's path, joined: "a/b" for two of "runs/a/b".
std::string last_names(const fs::path& folder, std::ptrdiff_t count) {
  fs::path whole = fs::absolute(folder).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  const std::vector<fs::path> parts(whole.begin(), whole.end());
  fs::path last;
  for (auto part = parts.end() - std::min(count, std::ssize(parts)); part != parts.end(); ++part) {
    last /= *part;
  }
  return last.string();
}

bool is_same_folder(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

}  // namespace

RunArgument parse_run_argument(const std::string& argument) {
  if (is_folder(argument)) return {argument, last_name(argument), false};
  for (std::size_t at = argument.find('='); at != std::string::npos;
       at = argument.find('=', at + 1)) {
    const std::string folder = argument.substr(at + 1);
    if (!is_folder(folder)) continue;
    check(at > 0, argument, ": the label before the = is empty, expected RUN_DIR or LABEL=RUN_DIR");
    return {folder, argument.substr(0, at), true};
  }
  std::error_code none;
  fail(argument, fs::exists(argument, none) ? ": is not a folder" : ": no such folder",
       ", expected a run directory, as RUN_DIR or LABEL=RUN_DIR");
}

void distinguish(std::vector<RunArgument>& runs) {
  for (std::ptrdiff_t names = 2;; ++names) {
    std::vector<RunArgument*> same;
    for (RunArgument& run : runs) {
      const auto equal = std::count_if(runs.begin(), runs.end(), [&](const RunArgument& other) {
        return other.label == run.label;
      });
      if (!run.has_own_label && equal > 1) same.push_back(&run);
    }
    if (same.empty()) return;
    for (RunArgument* run : same) {
      const std::string longer = last_names(run->folder, names);
      if (longer == run->label) return;  // the whole path: one folder under the label of another
      run->label = longer;
    }
  }
}

bool is_named_again(const RunArgument& run, const std::vector<RunArgument>& others) {
  return std::any_of(others.begin(), others.end(), [&](const RunArgument& other) {
    const bool is_same_row = run.label == other.label || !run.has_own_label;
    return is_same_row && is_same_folder(run.folder, other.folder);
  });
}

}  // namespace fovea
