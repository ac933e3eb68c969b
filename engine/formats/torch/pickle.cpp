// The stack machine that parses a pickle: a stack of values, the MARKs on it, and a memo of values
// for reuse.
#include "engine/formats/torch/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/base/error.h"
#include "engine/formats/torch/pickle_code.h"
#include "engine/formats/torch/pickle_opcodes.h"

namespace fovea {
namespace {

std::string_view name_of_opcode(unsigned char code) {
  const auto* const found = std::ranges::find_if(
      kPickleOpcodes, [&](const PickleOpcode& opcode) { return opcode.code == code; });
  return found == kPickleOpcodes.end() ? "" : found->name;
}

class Machine {
 public:
  Machine(std::string_view bytes, const std::string& context) : code_(bytes, context) {}

  Pickle run() {
    while (!stopped_) {
      code_.begin_instruction();
      step(code_.read<unsigned char>());
    }
    code_.require(stack_.size() == 1 && marks_.empty(), "ends with ", stack_.size(), " values and ",
                  marks_.size(), " open MARKs, expected one value");
    pickle_.root = stack_.back();
    pickle_.end = code_.position();
    return std::move(pickle_);
  }

 private:
  using Kind = PickleKind;

  /// Executes one instruction. Python documents each in Lib/pickletools.py.
  void step(unsigned char code) {
    if (push_constant(code) || push_data(code) || collect(code) || remember(code)) return;
    switch (code) {
      case 0x80: {  // PROTO
        const int version = code_.read<std::uint8_t>();
        return code_.require(version <= 5, "is of protocol ", version, ", expected at most 5");
      }
      case 0x95: {  // FRAME: a hint for read sizes
        const auto length = code_.read<std::uint64_t>();
        return code_.require(length <= code_.left(), "has a FRAME of ", length, " bytes, but ",
                             code_.left(), " follow");
      }
      case 'c': {  // GLOBAL
        const std::string module = code_.line();
        return global(module, code_.line());
      }
      case 0x93: {  // STACK_GLOBAL
        const std::string name = pop_text();
        return global(pop_text(), name);
      }
      case 0x92: {  // NEWOBJ_EX: keyword arguments are ignored too
        const PickleRef named = pop();
        code_.require(pickle_.at(named).kind == Kind::dict,
                      "makes a call with keyword arguments that are not a dictionary");
        return call();
      }
      case 'R':   // REDUCE
      case 0x81:  // NEWOBJ
        return call();
      case 'b':  // BUILD: the state of a call's result, or extra attributes of a dict
        return set_state(pop());
      case 'Q':  // BINPERSID
        return push_with(Kind::persistent, {pop()});
      case 0x97:  // NEXT_BUFFER: bytes that are kept apart from the pickle
        return push_with(Kind::persistent, {no_id()});
      case 0x98:  // READONLY_BUFFER: of the buffer on top
        return put_back(pop());
      case 0x82:  // EXT1, EXT2, EXT4: a class by its number in copyreg's registry
        return extension(code_.read<std::uint8_t>());
      case 0x83:
        return extension(code_.read<std::uint16_t>());
      case 0x84:
        return extension(code_.read<std::uint32_t>());
      case '0':  // POP, and POP_MARK: after a tuple that contains itself
        return static_cast<void>(pop());
      case '1':
        return static_cast<void>(pop_marked());
      case '2': {  // DUP
        const PickleRef top = pop();
        put_back(top);
        return put_back(top);
      }
      case '.':  // STOP
        stopped_ = true;
        return;
      default:
        refuse(code);
    }
  }

  bool push_constant(unsigned char code) {
    switch (code) {
      case 'N':  // NONE
        return push({}), true;
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        return push_integer(Kind::boolean, code == 0x88 ? 1 : 0), true;
      case 'J':  // BININT
        return push_integer(Kind::integer, code_.read<std::int32_t>()), true;
      case 'K':  // BININT1
        return push_integer(Kind::integer, code_.read<std::uint8_t>()), true;
      case 'M':  // BININT2
        return push_integer(Kind::integer, code_.read<std::uint16_t>()), true;
      case 0x8a:  // LONG1
        return push_long(code_.take(code_.read<std::uint8_t>())), true;
      case 0x8b:  // LONG4
        return push_long(code_.take(code_.read<std::uint32_t>())), true;
      case 'G': {  // BINFLOAT, big-endian
        PickleValue value{.kind = Kind::real, .text = {}, .items = {}};
        value.real = std::bit_cast<double>(__builtin_bswap64(code_.read<std::uint64_t>()));
        return push(std::move(value)), true;
      }
      case '}':  // EMPTY_DICT
        return push_with(Kind::dict, {}), true;
      case ']':  // EMPTY_LIST
        return push_with(Kind::list, {}), true;
      case ')':  // EMPTY_TUPLE
        return push_with(Kind::tuple, {}), true;
      case 0x8f:  // EMPTY_SET
        return push_with(Kind::set, {}), true;
      default:
        return false;
    }
  }

  bool push_data(unsigned char code) {
    switch (code) {
      case 0x8c:  // SHORT_BINUNICODE
      case 'U':   // SHORT_BINSTRING, of Python 2
        return push_text(Kind::text, code_.read<std::uint8_t>()), true;
      case 'X':  // BINUNICODE
      case 'T':  // BINSTRING, of Python 2
        return push_text(Kind::text, code_.read<std::uint32_t>()), true;
      case 0x8d:  // BINUNICODE8
        return push_text(Kind::text, code_.read<std::uint64_t>()), true;
      case 'C':  // SHORT_BINBYTES
        return push_text(Kind::bytes, code_.read<std::uint8_t>()), true;
      case 'B':  // BINBYTES
        return push_text(Kind::bytes, code_.read<std::uint32_t>()), true;
      case 0x8e:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        return push_text(Kind::bytes, code_.read<std::uint64_t>()), true;
      default:
        return false;
    }
  }

  /// MARK, and the instructions that collect values.
  bool collect(unsigned char code) {
    switch (code) {
      case '(':  // MARK
        code_.require(marks_.size() < kMaxPickleMarks, "has more than ", kMaxPickleMarks,
                      " open MARKs, nested deeper than any checkpoint");
        return marks_.push_back(stack_.size()), true;
      case 't':  // TUPLE
        return push_with(Kind::tuple, pop_marked()), true;
      case 0x85:  // TUPLE1
      case 0x86:  // TUPLE2
      case 0x87:  // TUPLE3
        return push_with(Kind::tuple, pop_many(code - 0x84u)), true;
      case 0x91:  // FROZENSET
        return push_with(Kind::set, pop_marked()), true;
      case 0x90:  // ADDITEMS
        return add_items(pop_marked()), true;
      case 'a':  // APPEND
        return extend({pop()}), true;
      case 'e':  // APPENDS
        return extend(pop_marked()), true;
      case 's':  // SETITEM
        return set_items(pop_many(2)), true;
      case 'u':  // SETITEMS
        return set_items(pop_marked()), true;
      default:
        return false;
    }
  }

  bool remember(unsigned char code) {
    switch (code) {
      case 'q':  // BINPUT
        return put(code_.read<std::uint8_t>()), true;
      case 'r':  // LONG_BINPUT
        return put(code_.read<std::uint32_t>()), true;
      case 0x94:  // MEMOIZE
        return put(static_cast<std::uint32_t>(memo_.size())), true;
      case 'h':  // BINGET
        return get(code_.read<std::uint8_t>()), true;
      case 'j':  // LONG_BINGET
        return get(code_.read<std::uint32_t>()), true;
      default:
        return false;
    }
  }

  [[noreturn]] void refuse(unsigned char code) const {
    const std::string_view name = name_of_opcode(code);
    fail(code_.context(), ": the pickle has the instruction ",
         name.empty() ? "of code " + std::to_string(code) : std::string(name), " at byte ",
         code_.start(),
         ", which protocols 2 to 5 do not use; in Python, load the file and save it again");
  }

  void push(PickleValue value) {
    code_.require(pickle_.values.size() < kMaxPickleValues, "has more than ", kMaxPickleValues,
                  " values");
    stack_.push_back(static_cast<PickleRef>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }

  void push_with(Kind kind, std::vector<PickleRef> items) {
    push({.kind = kind, .text = {}, .items = std::move(items)});
  }

  void push_text(Kind kind, std::uint64_t length) {
    push({.kind = kind, .text = code_.take(length), .items = {}});
  }

  void push_integer(Kind kind, std::int64_t number) {
    push({.kind = kind, .integer = number, .text = {}, .items = {}});
  }

  /// Two's complement, little-endian, of any length.
  void push_long(const std::string& digits) {
    const bool negative = !digits.empty() && static_cast<unsigned char>(digits.back()) >= 0x80;
    if (digits.size() > sizeof(std::int64_t)) return push_large(digits, negative);
    std::uint64_t bits = negative ? ~std::uint64_t{0} : 0;
    std::memcpy(&bits, digits.data(), digits.size());
    push_integer(Kind::integer, static_cast<std::int64_t>(bits));
  }

  /// Integers beyond 64 bits, such as a random generator's state or an id: never a size or a part
  /// of a tensor.
  void push_large(const std::string& digits, bool negative) {
    PickleValue value{.kind = Kind::real, .text = {}, .items = {}};
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
      const int byte = static_cast<unsigned char>(*digit);
      value.real = value.real * 256 + (negative ? 255 - byte : byte);
    }
    if (negative) value.real = -value.real - 1;
    push(std::move(value));
  }

  void global(const std::string& module, const std::string& name) {
    push({.kind = Kind::global, .text = module + "." + name, .items = {}});
  }

  void extension(std::uint32_t number) { global("copyreg", "extension " + std::to_string(number)); }

  void put_back(PickleRef ref) { stack_.push_back(ref); }

  /// The stack height at the last MARK.
  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  std::vector<PickleRef> pop_many(std::size_t count) {
    code_.require(stack_.size() - floor() >= count, "takes ", count, " values from a stack of ",
                  stack_.size() - floor());
    std::vector<PickleRef> taken(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return taken;
  }

  PickleRef pop() { return pop_many(1).front(); }

  /// The id of all buffers, None: one value, so that an instruction of one byte makes only one.
  PickleRef no_id() {
    if (!no_id_) {
      push({});
      no_id_ = pop();
    }
    return *no_id_;
  }

  std::string pop_text() {
    const PickleValue& value = pickle_.at(pop());
    code_.require(value.kind == Kind::text, "has a name that is not a string");
    return value.text;
  }

  std::vector<PickleRef> pop_marked() {
    code_.require(!marks_.empty(), "collects values without a MARK");
    std::vector<PickleRef> taken = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return taken;
  }

  PickleValue& top_of(std::initializer_list<Kind> kinds) {
    code_.require(stack_.size() > floor(), "modifies a value on an empty stack");
    PickleValue& value = pickle_.values[stack_.back()];
    code_.require(std::ranges::find(kinds, value.kind) != kinds.end(),
                  "modifies a value that is not modifiable");
    return value;
  }

  /// An unknown object's list or set items are dropped.
  static void add_to(PickleValue& target, const std::vector<PickleRef>& items) {
    if (target.kind == Kind::call) return;
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void extend(const std::vector<PickleRef>& items) {
    add_to(top_of({Kind::list, Kind::call}), items);
  }

  void add_items(const std::vector<PickleRef>& items) {
    add_to(top_of({Kind::set, Kind::call}), items);
  }

  void set_items(const std::vector<PickleRef>& items) {
    code_.require(items.size() % 2 == 0, "has a key without a value");
    PickleValue& target = top_of({Kind::dict, Kind::call});
    std::vector<PickleRef>& entries =
        target.kind == Kind::call ? pickle_.call_entries[stack_.back()] : target.items;
    entries.insert(entries.end(), items.begin(), items.end());
  }

  void set_state(PickleRef state) {
    if (top_of({Kind::call, Kind::dict, Kind::global}).kind == Kind::call) {
      pickle_.states[stack_.back()] = state;
    }
  }

  /// The entries of an OrderedDict's argument, as Python 2 writes it: a list of [key, value].
  std::optional<std::vector<PickleRef>> pairs_of(const PickleValue& arguments) {
    std::vector<PickleRef> entries;
    if (arguments.items.empty()) return entries;
    const PickleValue& list = pickle_.at(arguments.items.front());
    if (arguments.items.size() > 1 || list.kind != Kind::list) return {};
    for (const PickleRef item : list.items) {
      const PickleValue& pair = pickle_.at(item);
      const bool is_pair = pair.kind == Kind::list || pair.kind == Kind::tuple;
      if (!is_pair || pair.items.size() != 2) return {};
      entries.insert(entries.end(), pair.items.begin(), pair.items.end());
    }
    copied_ += entries.size();  // many calls may name one list
    code_.require(copied_ <= kMaxPickleValues, "has more than ", kMaxPickleValues, " values");
    return entries;
  }

  /// Records a call. An OrderedDict starts empty and is filled by SETITEMS. The arguments are a
  /// tuple, or for TorchScript's enumerations a single value.
  void call() {
    const std::vector<PickleRef> both = pop_many(2);
    const PickleValue &who = pickle_.at(both[0]), &arguments = pickle_.at(both[1]);
    const bool is_callable = who.kind == Kind::global || who.kind == Kind::call ||
                             who.kind == Kind::persistent;  // a class with its source, in old files
    code_.require(is_callable, "calls a value that is not callable");
    const bool is_dict = who.kind == Kind::global && who.text == "collections.OrderedDict";
    std::optional<std::vector<PickleRef>> entries;
    if (is_dict) entries = pairs_of(arguments);
    if (entries) return push_with(Kind::dict, std::move(*entries));
    push_with(Kind::call, both);
  }

  void put(std::uint32_t index) {
    code_.require(stack_.size() > floor(), "memoizes a value on an empty stack");
    memo_[index] = stack_.back();
  }

  void get(std::uint32_t index) {
    const auto found = memo_.find(index);
    code_.require(found != memo_.end(), "reads memo ", index, ", which it never stored");
    stack_.push_back(found->second);
  }

  PickleCode code_;
  bool stopped_ = false;
  std::size_t copied_ = 0;  ///< entries that were copied from lists
  Pickle pickle_;
  std::vector<PickleRef> stack_;
  std::optional<PickleRef> no_id_;
  std::vector<std::size_t> marks_;  ///< stack height at each MARK
  std::unordered_map<std::uint32_t, PickleRef> memo_;
};

}  // namespace

Pickle parse_pickle(std::string_view bytes, const std::string& context, std::uint64_t most_bytes) {
  return Machine(bytes.substr(0, most_bytes), context).run();
}

}  // namespace fovea
