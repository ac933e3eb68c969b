// A parser's events become entries. Reads the file in blocks.
#include "engine/base/json_entries.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/json_syntax.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using nlohmann::json;

/// The bytes of a source, a block at a time.
class Blocks {
 public:
  explicit Blocks(const ByteSource& source) : source_(source) { refill(); }

  [[nodiscard]] bool at_end() const { return at_ == block_.size(); }
  [[nodiscard]] char current() const { return block_[at_]; }
  void advance() {
    if (++at_ == block_.size()) refill();
  }

 private:
  void refill() {
    constexpr std::uint64_t block = 1 << 20;
    const std::uint64_t count = std::min(block, source_.size() - offset_);
    block_.resize(count);
    source_.read_at(offset_, std::as_writable_bytes(std::span(block_)));
    offset_ += count;
    at_ = 0;
  }

  const ByteSource& source_;
  std::uint64_t offset_ = 0;
  std::vector<char> block_;
  std::size_t at_ = 0;
};

/// The iterator over blocks that the parser takes; without blocks, the end.
class BlockIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  BlockIterator() = default;
  explicit BlockIterator(Blocks& blocks) : blocks_(&blocks) {}

  char operator*() const { return blocks_->current(); }
  BlockIterator& operator++() {
    blocks_->advance();
    return *this;
  }
  friend bool operator==(const BlockIterator& a, const BlockIterator& b) {
    return a.is_end() == b.is_end();
  }
  friend bool operator!=(const BlockIterator& a, const BlockIterator& b) { return !(a == b); }

 private:
  [[nodiscard]] bool is_end() const { return blocks_ == nullptr || blocks_->at_end(); }

  Blocks* blocks_ = nullptr;
};

std::string_view expected_of(EntryKind kind) {
  switch (kind) {
    case EntryKind::real:
      return "a number";
    case EntryKind::flag:
      return "0 or 1";
    case EntryKind::text:
      return "a string";
    case EntryKind::box:
      return "4 numbers: x, y, width, height";
    default:
      return "a whole number";
  }
}

/// A list of the table.
struct List {
  std::string_view name;
  bool seen = false;
  std::size_t entries = 0;
};

std::vector<List> lists_of(std::span<const EntryMember> members) {
  std::vector<List> lists;
  for (const EntryMember& member : members)
    if (lists.empty() || lists.back().name != member.list) lists.push_back({member.list});
  return lists;
}

/// Receives the parser's events. The parser's depth counts open objects and lists: a list's entries
/// are at kListDepth, their members one deeper.
class Events {
 public:
  using Take = std::function<void(std::string_view list, JsonEntry& entry)>;

  Events(std::string name, std::span<const EntryMember> members, const Take& take)
      : name_(std::move(name)), members_(members), take_(take), lists_(lists_of(members)) {}

  bool null() { return refuse("null"); }
  bool boolean(bool value) {
    return wants(EntryKind::flag) ? put_whole(value ? 1 : 0) : refuse("a truth value");
  }
  bool number_integer(std::int64_t value) {
    return takes_reals() ? put_real(static_cast<double>(value)) : put_whole(value);
  }
  bool number_unsigned(std::uint64_t value) {
    const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return fits ? number_integer(static_cast<std::int64_t>(value))
                : put_real(static_cast<double>(value));
  }
  bool number_float(double value, const std::string& /*text*/) {
    constexpr double exact = 9007199254740992;  // 2^53
    const bool is_whole = std::abs(value) < exact && value == std::floor(value);
    return is_whole && !takes_reals() ? put_whole(static_cast<std::int64_t>(value))
                                      : put_real(value);
  }
  bool string(const std::string& value) {
    if (!wants(EntryKind::text)) return refuse("a string");
    entry_.text = value;
    return true;
  }
  bool binary(const std::vector<std::uint8_t>& /*value*/) { return refuse("bytes"); }

  bool start_object(std::size_t /*size*/) {
    if (depth_ == 0) has_begun_ = true;
    if (depth_ == kListDepth && list_ != nullptr) {
      entry_ = {};
    } else {
      refuse("an object");
    }
    return open();
  }
  bool key(const std::string& text) {
    if (depth_ == 1) begin_list(text);
    if (depth_ == kListDepth + 1 && list_ != nullptr) begin_member(text);
    return true;
  }
  bool end_object() {
    --depth_;
    if (depth_ == kListDepth && list_ != nullptr) finish_entry();
    return true;
  }
  bool start_array(std::size_t /*size*/) {
    if (depth_ == 0) fail(name_, ": is a list, expected ", expected_file());
    if (depth_ == kListDepth + 1 && wants(EntryKind::box)) {
      in_box_ = true;
      box_size_ = 0;
    } else if (depth_ != kListDepth - 1) {
      refuse("a list");
    }
    return open();
  }
  bool end_array() {
    --depth_;
    if (depth_ == kListDepth + 1 && in_box_) {
      in_box_ = false;
      if (box_size_ != entry_.box.size()) refuse(std::to_string(box_size_) + " numbers");
    }
    if (depth_ == kListDepth - 1) list_ = nullptr;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& last, const json::exception& error) {
    if (dynamic_cast<const json::out_of_range*>(&error) != nullptr)
      fail(where(), "the number ", in_quotes(last), " is too large");
    fail(name_, ": is not valid JSON at byte ", position, ", near ", in_quotes(last),
         "; the file may be cut or damaged");
  }

  /// Throws if the file has been a single value, or is without one of the lists.
  void finish() const {
    check(has_begun_, name_, ": got a single value, expected ", expected_file());
    for (const List& list : lists_)
      check(list.seen, name_, ": has no ", list.name, ", expected ", expected_file());
  }

 private:
  static constexpr int kListDepth = 2;

  /// What kind of file is read.
  [[nodiscard]] std::string expected_file() const {
    std::vector<std::string> names;
    for (const List& list : lists_) names.emplace_back(list.name);
    return "an object with the lists " + join(names, ", ");
  }
  [[nodiscard]] std::string where() const {
    if (list_ == nullptr) return name_ + ": ";
    if (depth_ < kListDepth) return name_ + ": " + std::string(list_->name) + ": ";
    return entry_place(name_, list_->name, list_->entries);
  }
  /// Throws if not `ok`; the place is not made up before that.
  template <class... Parts>
  void require(bool ok, const Parts&... parts) const {
    if (!ok) [[unlikely]]
      fail(where(), parts...);
  }

  /// Whether the next value belongs to a member that is read.
  [[nodiscard]] bool is_read() const {
    return in_box_ || (depth_ == kListDepth + 1 && list_ != nullptr && member_ < members_.size());
  }
  /// Whether nothing is read here: most numbers of such files are outlines.
  [[nodiscard]] bool skips() const {
    return list_ == nullptr || (depth_ > kListDepth && !is_read());
  }
  [[nodiscard]] bool wants(EntryKind kind) const {
    return is_read() && !in_box_ && members_[member_].kind == kind;
  }
  [[nodiscard]] bool takes_reals() const { return in_box_ || wants(EntryKind::real); }
  /// Throws if something else is expected here than what was got; where nothing is read, anything
  /// goes.
  bool refuse(std::string_view got) const {
    if (is_read()) {
      const EntryMember& member = members_[member_];
      fail(where(), member.name, ": got ", got, ", expected ", expected_of(member.kind));
    }
    if (!skips())
      fail(where(), "got ", got, ", expected ", depth_ < kListDepth ? "a list" : "an object");
    return true;
  }
  bool open() {
    check(++depth_ <= kMaxNesting, name_, ": is nested more than ", kMaxNesting,
          " levels deep, expected ", expected_file());
    return true;
  }

  void begin_list(const std::string& text) {
    const auto found = std::find_if(lists_.begin(), lists_.end(),
                                    [&](const List& list) { return list.name == text; });
    if (found == lists_.end()) return;
    check(!found->seen, name_, ": has ", text, " twice");
    found->seen = true;
    list_ = &*found;
  }
  void begin_member(const std::string& text) {
    member_ = find_member(members_, list_->name, text);
    if (member_ == members_.size()) return;
    require(!entry_.seen[member_], "has ", text, " twice");
    entry_.seen[member_] = true;
  }

  bool put_whole(std::int64_t value) {
    if (skips()) return true;
    const bool is_flag = wants(EntryKind::flag) && (value == 0 || value == 1);
    if (!is_flag && !wants(EntryKind::whole)) return refuse(std::to_string(value));
    entry_.wholes[member_] = value;
    return true;
  }
  bool put_real(double value) {
    if (skips()) return true;
    if (in_box_) {
      if (box_size_ < entry_.box.size()) entry_.box[box_size_] = value;
      ++box_size_;
      return true;
    }
    if (!wants(EntryKind::real)) return refuse(shortest_text(value));
    entry_.reals[member_] = value;
    return true;
  }
  void finish_entry() {
    for (std::size_t k = 0; k < members_.size(); ++k)
      if (members_[k].list == list_->name && members_[k].needed)
        require(entry_.seen[k], "has no ", members_[k].name);
    entry_.number = list_->entries++;
    take_(list_->name, entry_);
  }

  std::string name_;
  std::span<const EntryMember> members_;
  const Take& take_;
  std::vector<List> lists_;
  bool has_begun_ = false;
  int depth_ = 0;
  List* list_ = nullptr;    ///< the list that is read
  std::size_t member_ = 0;  ///< of the entry; members_.size(): one that is not read
  bool in_box_ = false;
  std::size_t box_size_ = 0;
  JsonEntry entry_{};
};

}  // namespace

std::string entry_place(const std::string& name, std::string_view list, std::size_t number) {
  return concat(name, ": ", list, "[", number, "]: ");
}

void read_json_entries(const ByteSource& bytes, const std::string& name,
                       std::span<const EntryMember> members,
                       const std::function<void(std::string_view list, JsonEntry& entry)>& take) {
  const std::string start = bytes.text_at(0, std::min<std::uint64_t>(bytes.size(), 512));
  const std::string other = other_format(start);
  check(other.empty(), name, ": ", other);
  Events events(name, members, take);
  Blocks blocks(bytes);
  json::sax_parse(BlockIterator(blocks), BlockIterator(), &events);
  events.finish();
}

}  // namespace fovea
