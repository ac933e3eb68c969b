// What lies in a folder of class folders, and a file that remembers it.
//
// Scanning a million files takes minutes on a cold disk. The index is kept in a text file:
//   fovea-folder-index 2 <crc32c of the rest, 8 hex digits>
//   D <time of last change, ns> <folder, relative to the root; "." is the root>
//   F <file name in the folder above>
//   O <number of files> <ending that is no picture's>
// Adding, removing or renaming a file changes its folder's time, so looking at the folders alone
// tells whether the index still holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct FolderIndex {
  struct Directory {
    std::string path;  ///< relative to the root, "/" between the parts; "." is the root
    std::int64_t changed_ns = 0;
    friend bool operator==(const Directory&, const Directory&) = default;
  };
  struct File {
    std::int64_t directory = 0;  ///< index
    std::string name;
    friend bool operator==(const File&, const File&) = default;
  };
  std::vector<Directory> directories;
  std::vector<File> files;                       ///< pictures by their ending, sorted by path
  std::map<std::string, std::int64_t> others{};  ///< how many files of each other ending
  friend bool operator==(const FolderIndex&, const FolderIndex&) = default;
};

/// The pictures in a folder and below, sorted.
[[nodiscard]] std::vector<std::filesystem::path> pictures_below(
    const std::filesystem::path& folder);

/// Walks the folder, links included. Names that begin with a dot are passed over.
[[nodiscard]] FolderIndex scan_folder(const std::filesystem::path& root);
/// Whether every folder of the index is as it was.
[[nodiscard]] bool is_current(const FolderIndex& index, const std::filesystem::path& root);

/// The index from `file` where that holds for `root` still; else scanned, and written there. A file
/// that cannot be read or written only costs time. An empty path: always scanned.
[[nodiscard]] FolderIndex load_folder_index(const std::filesystem::path& root,
                                            const std::filesystem::path& file);

/// The text of the file. Empty where a name holds an end of line: such an index is not kept.
[[nodiscard]] std::string format_folder_index(const FolderIndex& index);
/// Throws Error, beginning with `where`, on anything that format_folder_index() does not write.
[[nodiscard]] FolderIndex parse_folder_index(std::string_view text, const std::string& where);

}  // namespace fovea
