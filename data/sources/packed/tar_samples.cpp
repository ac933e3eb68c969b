// Groups members by key, then determines the role of each.
#include "data/sources/packed/tar_samples.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "data/image.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

/// A member's path, split at a dot of its file name: "a/b" and "seg.png" for "a/b.seg.png".
struct Name {
  std::string_view key;
  std::string ending;  ///< extension in lower case

  /// The part after the last dot.
  [[nodiscard]] std::string_view kind() const {
    return std::string_view(ending).substr(ending.rfind('.') + 1);  // npos + 1 = 0
  }
  [[nodiscard]] bool is_plain() const { return kind().size() == ending.size(); }
};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Name cut_at(std::string_view path, std::size_t dot) {
  Name name{path.substr(0, dot), std::string(path.substr(std::min(dot + 1, path.size())))};
  for (char& c : name.ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

Name at_first_dot(std::string_view path) {
  const std::size_t base = path.size() - file_name(path).size();
  return cut_at(path, std::min(path.find('.', base), path.size()));
}

Name at_last_dot(std::string_view path) {
  const std::size_t dot = file_name(path).rfind('.');
  const std::size_t base = path.size() - file_name(path).size();
  return cut_at(path, dot == std::string_view::npos ? path.size() : base + dot);
}

/// Whether to ignore a path: macOS's "._a.png" next to members, and WebDataset's "__meta__".
bool is_passed_over(std::string_view path) {
  const std::string_view base = file_name(at_first_dot(path).key);
  return base.empty() || (base.size() >= 4 && base.starts_with("__") && base.ends_with("__"));
}

bool is_picture(std::string_view kind) {
  const std::vector<std::string>& known = picture_endings();
  return std::find(known.begin(), known.end(), "." + std::string(kind)) != known.end();
}

struct Member {
  const TarMember* member;
  Name name;
};
using Group = std::vector<Member>;

/// The member of a kind: the one named by the key, or the only one.
struct Pick {
  const TarMember* member = nullptr;
  const TarMember* other = nullptr;  ///< a second candidate; `member` is then the first
};

template <class IsKind>
Pick pick(const Group& group, const IsKind& is_kind) {
  Pick found;
  for (const Member& candidate : group) {
    if (!is_kind(candidate.name.kind())) continue;
    if (candidate.name.is_plain()) return {candidate.member};
    (found.member == nullptr ? found.member : found.other) = candidate.member;
  }
  return found;
}

class Grouping {
 public:
  Grouping(const ByteSource& bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  TarSamples run(const std::vector<TarMember>& members) {
    for (const Group& group : groups_of(members, &at_first_dot)) resolve(group);
    return std::move(result_);
  }

 private:
  /// Groups in the order of their first members. A repeated path starts another sample.
  static std::vector<Group> groups_of(const std::vector<TarMember>& members,
                                      Name (*cut)(std::string_view)) {
    std::vector<Group> groups;
    std::unordered_map<std::string_view, int> seen;
    std::map<std::pair<std::string_view, int>, std::size_t> places;
    for (const TarMember& member : members) {
      if (is_passed_over(member.path)) continue;
      Name name = cut(member.path);
      const int time = seen[member.path]++;
      const auto [place, is_new] = places.try_emplace({name.key, time}, groups.size());
      if (is_new) groups.emplace_back();
      groups[place->second].push_back({&member, std::move(name)});
    }
    return groups;
  }

  void resolve(const Group& group) {
    const Pick picture = pick(group, is_picture);
    const Pick label = find_label(group);
    const bool is_clear = picture.other == nullptr && label.other == nullptr;
    if (!is_clear) return resolve_by_last_dot(group, picture.other != nullptr ? picture : label);
    if (!add(picture.member, label.member)) leave_out(cause_of(group, picture, label));
  }

  static Pick find_label(const Group& group) {
    for (const std::string_view wanted : {"cls", "json", "txt"}) {
      const Pick found = pick(group, [&](std::string_view kind) { return kind == wanted; });
      if (found.member != nullptr) return found;
    }
    return {};
  }

  /// Splits a group at the last dots of its names. If no part has both a picture and a label, the
  /// group is ambiguous and left out.
  void resolve_by_last_dot(const Group& group, const Pick& unclear) {
    std::vector<TarMember> members;
    for (const Member& each : group) members.push_back(*each.member);
    std::int64_t incomplete = 0;
    std::string cause;
    bool any = false;
    for (const Group& part : groups_of(members, &at_last_dot)) {
      const Pick picture = pick(part, is_picture), label = find_label(part);
      if (add(picture.member, label.member)) {
        any = true;
      } else if (incomplete++ == 0) {
        cause = cause_of(part, picture, label);
      }
    }
    if (!any) {
      return leave_out(concat(unclear.member->path, " and ", unclear.other->path,
                              " may both belong to ", group.front().name.key,
                              ", expected only one of each kind"));
    }
    if (incomplete == 0) return;
    leave_out(cause);
    result_.incomplete += incomplete - 1;
  }

  /// Adds a sample if it is complete and returns whether it was.
  bool add(const TarMember* picture, const TarMember* label) {
    if (picture == nullptr || label == nullptr) return false;
    const std::optional<std::int64_t> number = read_label(*label);
    if (!number) return false;
    result_.samples.push_back({picture->path, picture->offset, picture->size, *number});
    return true;
  }

  void leave_out(const std::string& cause) {
    if (result_.incomplete++ == 0) result_.cause = name_ + ": " + cause;
  }

  static std::string cause_of(const Group& group, const Pick& picture, const Pick& label) {
    const std::string key(group.front().name.key);
    if (picture.member == nullptr) return group.front().member->path + " has no matching picture";
    if (label.member == nullptr) {
      return picture.member->path + " has no label, expected a number in " + key + ".cls";
    }
    return label.member->path +
           (label.member->path.ends_with("json") ? " has no whole number \"label\""
                                                 : " is not an integer of 0 or more") +
           ", and there is no " + key + ".cls";
  }

  /// The label in a member. An invalid .cls is an error; other files may serve another purpose.
  [[nodiscard]] std::optional<std::int64_t> read_label(const TarMember& member) const {
    constexpr std::int64_t most_labels = 1'000'000;
    constexpr std::uint64_t most_bytes = 1 << 16;  // more digits than a valid label can have
    const std::string text = bytes_.text_at(member.offset, std::min(member.size, most_bytes));
    const std::string kind(at_last_dot(member.path).kind());
    const std::vector<std::string> words = split_words(without_bom(text));
    std::int64_t label = -1;
    if (kind == "json") {
      label = number_in_json(text);
    } else if (words.size() == 1) {
      label = parse_integer(words.front()).value_or(-1);
    }
    if (label >= 0 && label < most_labels) return label;
    check(kind != "cls", name_, ": ", member.path, ": got the label \"",
          visible_text(text.substr(0, 32)), "\", expected a number of 0 or more");
    return {};
  }

  static std::int64_t number_in_json(const std::string& text) {
    const nlohmann::json values = parse_json(text);
    if (!values.is_object()) return -1;
    const auto label = values.find("label");
    return label != values.end() && label->is_number_integer() ? label->get<std::int64_t>() : -1;
  }

  const ByteSource& bytes_;
  const std::string& name_;
  TarSamples result_;
};

}  // namespace

TarSamples group_tar(const ByteSource& bytes, const std::vector<TarMember>& members,
                     const std::string& name) {
  return Grouping(bytes, name).run(members);
}

}  // namespace fovea
