// Lookup that prefers the exact name.
#include "data/sources/files/find_ignoring_case.h"

#include <algorithm>
#include <iterator>

#include "engine/base/error.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

std::string in_small_letters(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

bool is_passed_over(std::string_view name) {
  constexpr std::string_view kOfOthers[] = {
      "@eaDir", "#recycle", "__MACOSX", "lost+found", "$RECYCLE.BIN", "System Volume Information"};
  return name.starts_with('.') || std::ranges::find(kOfOthers, name) != std::end(kOfOthers);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

fs::path find_ignoring_case(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  if (fs::exists(folder / name, ignored)) return folder / name;
  const std::string wanted = in_small_letters(name);
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (in_small_letters(entry.path().filename().string()) == wanted) found.push_back(entry.path());
  }
  return found.empty() ? fs::path() : *std::min_element(found.begin(), found.end());
}

std::vector<std::string> folders_below(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!is_passed_over(name) && is_folder(entry.path())) names.push_back(name);
  }
  check(!error, folder.string(), ": cannot be read: ", error.message());
  std::sort(names.begin(), names.end());
  return names;
}

fs::path beside_or_below(const fs::path& file, const fs::path& data_dir) {
  std::error_code ignored;
  const bool below = !fs::exists(file, ignored) && fs::exists(data_dir / file, ignored);
  return below ? data_dir / file : file;
}

}  // namespace fovea
