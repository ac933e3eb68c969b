// Scans folders, and writes and parses their index.
#include "data/sources/files/folder_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <tuple>

#include "data/image.h"
#include "data/sources/files/find_ignoring_case.h"
#include "engine/base/crc32c.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTitle = "fovea-folder-index 3 ";
constexpr std::string_view kOtherBuild = ": was made by a build with other image formats";
constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

/// The stamp of a folder; all -1 if it does not exist.
FolderIndex::Stamp stamp_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {-1, -1, -1};
  return {nanoseconds(status.st_mtim), nanoseconds(status.st_ctim),
          static_cast<std::int64_t>(status.st_ino)};
}

/// Adds the folder, its files, then its subfolders; each in name order.
void scan_into(FolderIndex& index, const fs::path& root, const std::string& relative, int depth) {
  constexpr int deepest = 16;
  check(depth <= deepest, (root / relative).string(), ": folders are nested deeper than ", deepest,
        " levels (a link to a parent folder?)");
  const fs::path folder = relative == "." ? root : root / relative;
  const auto number = static_cast<std::int64_t>(index.directories.size());
  index.directories.push_back({relative, stamp_of(folder)});
  std::vector<std::string> files, folders;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;
    if (is_passed_over(name))
      ++index.others[name];
    else if (entry->is_directory(ignored))
      folders.push_back(name);
    else if (entry->is_other(ignored))  // reading a pipe might never end
      continue;
    else if (has_picture_ending(name))
      files.push_back(name);
    else if (relative != ".")
      ++index.others[lowercase_ending(name)];
  }
  check(!error, folder.string(), ": cannot be read: ", error.message());
  std::sort(files.begin(), files.end());
  std::sort(folders.begin(), folders.end());
  for (std::string& name : files) index.files.push_back({number, std::move(name)});
  for (const std::string& name : folders)
    scan_into(index, root, relative == "." ? name : relative + "/" + name, depth + 1);
}

/// Removes the next line from `text` and returns it.
std::string_view take_line(std::string_view& text, const std::string& context) {
  const std::size_t end = text.find('\n');
  check(end != std::string_view::npos, context, ": damaged index: its last line is cut off");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

/// Splits "12 a text" into its two parts.
std::pair<std::int64_t, std::string> parse_numbered(std::string_view line,
                                                    const std::string& context) {
  const std::size_t blank = line.find(' ');
  const auto number = parse_integer(line.substr(0, blank));
  check(number && blank != std::string_view::npos, context, ": damaged index: got \"", line,
        "\", expected a number and a string");
  return {*number, std::string(line.substr(blank + 1))};
}

FolderIndex::Directory parse_directory(std::string_view line, const std::string& context) {
  FolderIndex::Directory directory;
  FolderIndex::Stamp& stamp = directory.stamp;
  std::string rest(line);
  for (std::int64_t* number : {&stamp.modified_ns, &stamp.changed_ns, &stamp.inode}) {
    std::tie(*number, rest) = parse_numbered(rest, context);
  }
  directory.path = std::move(rest);
  check(!directory.path.empty(), context, ": damaged index: got a folder without a name");
  const std::string inside = "/" + directory.path + "/";
  check(inside.find("/../") == std::string::npos && inside.find("//") == std::string::npos, context,
        ": damaged index: the folder \"", directory.path, "\" is outside of it");
  return directory;
}

std::string hex(std::uint32_t value) { return printf_text("%08x", value); }

/// Whether all folders changed well before now. Another change within the resolution of the file
/// system's clock would go undetected, so a fresher index is not cached; nor is one of a file
/// system without times.
bool is_settled(const FolderIndex& index, std::chrono::system_clock::time_point now) {
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch());
  const std::int64_t limit = since_epoch.count() - 2 * kSecond;
  return std::all_of(index.directories.begin(), index.directories.end(), [limit](const auto& d) {
    return d.stamp.changed_ns > 0 && d.stamp.changed_ns < limit;
  });
}

}  // namespace

std::vector<fs::path> pictures_below(const fs::path& folder) {
  const FolderIndex index = scan_folder(folder);
  std::vector<fs::path> files;
  for (const FolderIndex::File& file : index.files) {
    const fs::path inside = index.directories[static_cast<std::size_t>(file.directory)].path;
    files.push_back((folder / inside / file.name).lexically_normal());
  }
  std::sort(files.begin(), files.end());
  return files;
}

FolderIndex scan_folder(const fs::path& root) {
  FolderIndex index;
  scan_into(index, root, ".", 0);
  return index;
}

bool is_current(const FolderIndex& index, const fs::path& root) {
  return std::all_of(index.directories.begin(), index.directories.end(), [&](const auto& d) {
    return stamp_of(d.path == "." ? root : root / d.path) == d.stamp;
  });
}

std::string format_folder_index(const FolderIndex& index) {
  std::string body;
  std::size_t file = 0;
  for (std::size_t d = 0; d < index.directories.size(); ++d) {
    const FolderIndex::Directory& directory = index.directories[d];
    if (directory.path.find('\n') != std::string::npos) return {};
    const FolderIndex::Stamp& stamp = directory.stamp;
    body += concat("D ", stamp.modified_ns, " ", stamp.changed_ns, " ", stamp.inode, " ",
                   directory.path, "\n");
    for (; file < index.files.size() && index.files[file].directory == static_cast<int64_t>(d);
         ++file) {
      if (index.files[file].name.find('\n') != std::string::npos) return {};
      body += "F " + index.files[file].name + "\n";
    }
  }
  for (const auto& [ending, count] : index.others) {
    if (ending.find('\n') != std::string::npos) return {};
    body += "O " + std::to_string(count) + " " + ending + "\n";
  }
  return std::string(kTitle) + hex(crc32c(body)) + "\n" + body;
}

FolderIndex parse_folder_index(std::string_view text, const std::string& context) {
  const std::string_view title = take_line(text, context);
  check(title.starts_with(kTitle), context, ": is not a folder index of version 3");
  check(title.substr(kTitle.size()) == hex(crc32c(text)), context,
        ": damaged index: its checksum is wrong");
  FolderIndex index;
  while (!text.empty()) {
    const std::string_view line = take_line(text, context);
    if (line.starts_with("D ")) {
      index.directories.push_back(parse_directory(line.substr(2), context));
      continue;
    }
    if (line.starts_with("O ")) {
      const auto [count, ending] = parse_numbered(line.substr(2), context);
      check(!has_picture_ending("x" + ending), context, kOtherBuild);
      index.others[ending] = count;
      continue;
    }
    const bool file = line.starts_with("F ") && line.size() > 2 && !index.directories.empty() &&
                      line.find('/') == std::string_view::npos;
    check(file, context, ": damaged index: got the line \"", line,
          "\", expected D or F and a name");
    check(has_picture_ending(line.substr(2)), context, kOtherBuild);
    index.files.push_back(
        {static_cast<std::int64_t>(index.directories.size()) - 1, std::string(line.substr(2))});
  }
  return index;
}

FolderIndex load_folder_index(const fs::path& root, const fs::path& file,
                              std::chrono::system_clock::time_point now) {
  if (file.empty()) return scan_folder(root);
  try {
    FolderIndex kept = parse_folder_index(read_file(file), file.string());
    if (!kept.directories.empty() && is_current(kept, root)) return kept;
  } catch (const Error&) {  // missing or damaged: scan again
  }
  FolderIndex index = scan_folder(root);
  const std::string text = is_settled(index, now) ? format_folder_index(index) : "";
  try {
    if (!text.empty()) {
      make_folder(file.parent_path());
      write_file_atomically(file, text);
    }
  } catch (const std::exception&) {  // full or read-only disk: the next run scans again
  }
  return index;
}

}  // namespace fovea
