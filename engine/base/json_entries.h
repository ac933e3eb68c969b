// Reading large JSON files of lists by events: no tree of the file is ever in memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/files.h"

namespace fovea {

enum class EntryKind {
  whole,  ///< a whole number; also written as 5.0
  real,   ///< any number
  flag,   ///< 0, 1, true or false
  text,
  box,  ///< a list of four numbers
};

/// A member of the entries of a list.
struct EntryMember {
  std::string_view list;  ///< name of the list in the outermost object
  std::string_view name;
  EntryKind kind;
  bool needed = true;
};

inline constexpr std::size_t kMaxEntryMembers = 16;

/// An entry of a list. Values are found at the place of their member in the table.
struct JsonEntry {
  std::size_t number = 0;  ///< in its list, from 0
  std::array<bool, kMaxEntryMembers> seen{};
  std::array<std::int64_t, kMaxEntryMembers> wholes{};  ///< whole numbers and flags
  std::array<double, kMaxEntryMembers> reals{};
  std::array<double, 4> box{};
  std::string text{};  ///< a list has at most one member that is text, and one that is a box
};

/// The place of a member, or members.size().
[[nodiscard]] constexpr std::size_t find_member(std::span<const EntryMember> members,
                                                std::string_view list, std::string_view name) {
  std::size_t k = 0;
  while (k < members.size() && (members[k].list != list || members[k].name != name)) ++k;
  return k;
}

/// Calls `take` for each entry of each list that the table names, in the order of the file; all
/// else is skipped. Throws Error, starting with `name`, on anything but JSON; on missing lists and
/// members, lists and members that occur twice, and values of another type, naming list and entry,
/// as in "FILE: annotations[4]: bbox: got null, expected ...".
void read_json_entries(const ByteSource& bytes, const std::string& name,
                       std::span<const EntryMember> members,
                       const std::function<void(std::string_view list, JsonEntry& entry)>& take);

/// "FILE: annotations[4]: ", for complaints about an entry's values.
[[nodiscard]] std::string entry_place(const std::string& name, std::string_view list,
                                      std::size_t number);

}  // namespace fovea
