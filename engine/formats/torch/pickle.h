// Python pickles as trees of inert values. A pickle is a program for a small stack machine; here
// its instructions only build values. Imports and calls are recorded (the name, the callee and its
// arguments), never executed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Index of a value among the values of its pickle.
using PickleRef = std::uint32_t;

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  bytes,
  tuple,
  list,
  set,
  dict,        ///< also collections.OrderedDict
  global,      ///< "module.name"
  call,        ///< call of a global or of another call's result: an object
  persistent,  ///< an object stored outside the pickle, referenced by id; None for a buffer
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;  ///< integer or boolean
  double real = 0;
  std::string text;  ///< text or bytes; the name of a global. A Python 2 str is a text too
  /// Dict: key, value, key, ...; call: callee and arguments; persistent: its id.
  std::vector<PickleRef> items;
};

struct Pickle {
  std::vector<PickleValue> values;
  /// For each call, the state that BUILD passes to its result.
  std::map<PickleRef, PickleRef> states{};
  /// For each call, what SETITEM and SETITEMS add to its result: key, value, key, ...
  std::map<PickleRef, std::vector<PickleRef>> call_entries{};
  PickleRef root = 0;
  std::size_t end = 0;  ///< where the pickle ends in the given bytes

  [[nodiscard]] const PickleValue& at(PickleRef ref) const { return values[ref]; }
  /// Key, value, key, ... of a dictionary, or of an object that is filled like one (defaultdict,
  /// classes derived from dict). Empty for other values.
  [[nodiscard]] const std::vector<PickleRef>& entries(PickleRef ref) const;
  /// The attributes of an object, as a dictionary's entries. Empty for other values.
  [[nodiscard]] const std::vector<PickleRef>& attributes(PickleRef ref) const;
};

/// Limits: pickles that are longer, have more values or more open MARKs are rejected.
inline constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{1} << 30;  // NumPy arrays lie inside
inline constexpr std::size_t kMaxPickleValues = std::size_t{1} << 22;
inline constexpr std::size_t kMaxPickleMarks = 1000;

/// Parses the pickle at the start of `bytes`, at most `most_bytes` long. Supports what Python
/// writes in protocols 2 to 5. Throws Error, starting with `context`, with the position and name of
/// any other instruction (the text forms of protocols 0 and 1), and on bytes that are not a pickle.
/// No step recurses, so no input can overflow the stack.
[[nodiscard]] Pickle parse_pickle(std::string_view bytes, const std::string& context,
                                  std::uint64_t most_bytes = kMaxPickleBytes);

}  // namespace fovea
