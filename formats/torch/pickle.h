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
  dict,    ///< also collections.OrderedDict
  global,  ///< "module.name"
  call,    ///< call of a global or of another call's result; items added to the result are dropped
  persistent,  ///< an object stored outside the pickle, referenced by id
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
  PickleRef root = 0;
  std::size_t end = 0;  ///< where the pickle ends in the given bytes

  [[nodiscard]] const PickleValue& at(PickleRef ref) const { return values[ref]; }
};

/// Limits: pickles that are longer, have more values or more open MARKs are rejected.
inline constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{64} << 20;
inline constexpr std::size_t kMaxPickleValues = std::size_t{1} << 22;
inline constexpr std::size_t kMaxPickleMarks = 1000;

/// Parses the pickle at the start of `bytes`, at most `most_bytes` long. Supports the instructions
/// of protocols 2 to 5 that torch.save and numpy arrays use. Throws Error, starting with `where`,
/// with the position and name of any other instruction, and on bytes that are not a pickle. No
/// step recurses, so no input can overflow the stack.
[[nodiscard]] Pickle parse_pickle(std::string_view bytes, const std::string& where,
                                  std::uint64_t most_bytes = kMaxPickleBytes);

}  // namespace fovea
