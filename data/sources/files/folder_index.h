// An index of the files in a tree of class folders, and its cache file.
//
// Scanning a million files takes minutes on a cold disk. The index is cached in a text file:
//   fovea-folder-index 3 <crc32c of the rest, 8 hex digits>
//   D <time of modification, ns> <time of change, ns> <inode> <folder, relative to the root; "."
//     is the root>
//   F <file name in the folder above>
//   O <number of files> <extension that is not a picture's>
// Adding, removing or renaming a file changes the times of its folder, so checking the folders
// alone is enough to validate the index. The time of modification can be set back, as unpacking
// does; the time of change cannot. The inode tells another folder in the same place, as behind a
// link that has moved.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct FolderIndex {
  /// What differs when a folder, or what it contains, is another.
  struct Stamp {
    std::int64_t modified_ns = 0, changed_ns = 0;
    std::int64_t inode = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Directory {
    std::string path;  ///< relative to the root, separated by "/"; "." is the root
    Stamp stamp{};
    friend bool operator==(const Directory&, const Directory&) = default;
  };
  struct File {
    std::int64_t directory = 0;  ///< index into the directories
    std::string name;
    friend bool operator==(const File&, const File&) = default;
  };
  std::vector<Directory> directories;
  std::vector<File> files;                       ///< files with a picture extension, sorted by path
  std::map<std::string, std::int64_t> others{};  ///< number of files for each other extension
  friend bool operator==(const FolderIndex&, const FolderIndex&) = default;
};

/// The pictures in a folder and its subfolders, sorted.
[[nodiscard]] std::vector<std::filesystem::path> pictures_below(
    const std::filesystem::path& folder);

/// Scans the folder, following links. Ignores what is_passed_over() (find_ignoring_case.h).
[[nodiscard]] FolderIndex scan_folder(const std::filesystem::path& root);
/// Whether every folder of the index is unchanged.
[[nodiscard]] bool is_current(const FolderIndex& index, const std::filesystem::path& root);

/// Loads the index from `file` if it is valid for `root`; otherwise scans and, unless a folder has
/// changed just before `now`, writes it. A file that cannot be read or written only costs time.
/// With an empty path it always scans.
[[nodiscard]] FolderIndex load_folder_index(
    const std::filesystem::path& root, const std::filesystem::path& file,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

/// The content of the cache file. Empty if a name contains a line end: that index is not cached.
[[nodiscard]] std::string format_folder_index(const FolderIndex& index);
/// Throws Error, starting with `context`, on anything that format_folder_index() does not write.
[[nodiscard]] FolderIndex parse_folder_index(std::string_view text, const std::string& context);

}  // namespace fovea
