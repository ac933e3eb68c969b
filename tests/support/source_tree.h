// The tree as its own tests read it: rooms (cmake/rooms.txt), files, lines and words.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fovea::test {

inline const std::filesystem::path kRoot = FOVEA_SOURCE_DIR;

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A line of cmake/rooms.txt, which explains the format.
struct Room {
  std::string name;
  std::set<std::string> below{};  ///< rooms that it may include, itself not among them
  bool sees_all = false;          ///< bench, tests and examples
  bool has_files = true;          ///< false: files stand only in the rooms inside it

  /// Whether the room is part of the libraries and programs.
  [[nodiscard]] bool is_product() const { return has_files && !sees_all; }
  [[nodiscard]] std::string top() const { return name.substr(0, name.find('/')); }
};
using Rooms = std::vector<Room>;

inline Rooms parse_rooms(const std::string& text) {
  Rooms rooms;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Room room;
    if (!(words >> room.name) || room.name.front() == '#') continue;
    for (std::string word; words >> word;) {
      if (word == "*") room.sees_all = true;
      if (word == "-") room.has_files = false;
      if (word == "*" || word == "-") continue;
      const bool to_here = word.starts_with("..");
      const std::string last = to_here ? word.substr(2) : word;
      for (const Room& above : rooms) {
        if (above.has_files && (to_here || above.name == last)) room.below.insert(above.name);
        if (above.name == last) break;
      }
    }
    rooms.push_back(std::move(room));
  }
  return rooms;
}

/// The rooms of the tree.
inline const Rooms& rooms() {
  static const Rooms all = parse_rooms(slurp(kRoot / "cmake/rooms.txt"));
  return all;
}

/// The room of a path: the longest whose folder it lies in; null outside of all.
inline const Room* room_of(const std::string& path) {
  const Room* found = nullptr;
  for (const Room& room : rooms()) {
    const bool contains = path.starts_with(room.name + "/");
    if (contains && (found == nullptr || room.name.size() > found->name.size())) found = &room;
  }
  return found;
}

/// The folders at the top of the tree.
inline std::set<std::string> top_folders() {
  std::set<std::string> tops;
  for (const Room& room : rooms()) tops.insert(room.top());
  return tops;
}

struct File {
  std::string path;  ///< from the root, with slashes
  std::vector<std::string> lines;

  [[nodiscard]] std::string folder() const { return path.substr(0, path.find('/')); }
  [[nodiscard]] bool is_code() const {
    static const std::set<std::string> endings{".h", ".cpp", ".cu", ".cuh"};
    return endings.contains(std::filesystem::path(path).extension().string());
  }
};

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline File read_tree_file(const std::filesystem::path& path) {
  return {path.lexically_relative(kRoot).generic_string(), lines_of(slurp(path))};
}

/// All files of the tree that people write, but for texts and pictures: code, builds, scripts.
inline const std::vector<File>& tree_files() {
  static const std::vector<File> all = [] {
    static const std::set<std::string> kinds{".h",     ".cpp", ".cu", ".cuh",
                                             ".cmake", ".in",  ".py", ".sh"};
    std::vector<File> files{read_tree_file(kRoot / "CMakeLists.txt"), read_tree_file(kRoot / "run"),
                            read_tree_file(kRoot / ".ci/run")};
    for (const std::string& folder : top_folders()) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
        const std::filesystem::path& path = entry.path();
        const bool listed =
            kinds.contains(path.extension().string()) || path.filename() == "CMakeLists.txt";
        if (entry.is_regular_file() && listed) files.push_back(read_tree_file(path));
      }
    }
    return files;
  }();
  return all;
}

/// Whether a line has the word, not as a part of a longer one. Without a regular expression, which
/// takes a hundred times as long on all lines of the tree.
inline bool has_word(const std::string& line, const std::string& word) {
  const auto in_word = [&](std::size_t at) {
    return at < line.size() &&
           (std::isalnum(static_cast<unsigned char>(line[at])) != 0 || line[at] == '_');
  };
  for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    if (!in_word(at - 1) && !in_word(at + word.size())) return true;
  }
  return false;
}

/// The product's files, with its lists, that have one of the words, comments apart.
inline std::set<std::string> product_files_with(const std::vector<std::string>& words) {
  std::set<std::string> found;
  for (const File& file : tree_files()) {
    const Room* room = room_of(file.path);
    if (room == nullptr || !room->is_product()) continue;
    for (const std::string& line : file.lines) {
      const std::string code = line.substr(0, line.find("//"));
      const bool has = std::any_of(words.begin(), words.end(),
                                   [&](const std::string& word) { return has_word(code, word); });
      if (has) found.insert(file.path);
    }
  }
  return found;
}

inline std::string join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

}  // namespace fovea::test
