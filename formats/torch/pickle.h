// Python's pickles as trees of inert values. A pickle is a program for a small stack machine; here
// its instructions only build values. What it would import stays a name, and what it would call
// stays a note of who was to be called with what: nothing is looked up, made or run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// A value's place among the values of its pickle.
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
  call,        ///< of a global or of what a call gave; items that are added to it are dropped
  persistent,  ///< what lies outside of the pickle, by an id
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;  ///< or boolean
  double real = 0;
  std::string text;              ///< or bytes; of a global its name. Python 2's str is a text too
  std::vector<PickleRef> items;  ///< of a dict key, value, key, ...; of a call who and the
                                 ///< arguments; of what is persistent its id
};

struct Pickle {
  std::vector<PickleValue> values;
  std::map<PickleRef, PickleRef> states{};  ///< what BUILD gives to a call
  PickleRef root = 0;
  std::size_t end = 0;  ///< where the pickle ends in the bytes that were given

  [[nodiscard]] const PickleValue& at(PickleRef ref) const { return values[ref]; }
};

/// Longer pickles, of more values or with more open MARKs, are refused.
inline constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{64} << 20;
inline constexpr std::size_t kMaxPickleValues = std::size_t{1} << 22;
inline constexpr std::size_t kMaxPickleMarks = 1000;

/// The pickle that `bytes` begin with, no more than `most_bytes` of them. Understood are the
/// instructions of protocols 2 to 5 that torch.save and numpy's arrays need. Throws Error,
/// beginning with `where`, with the byte and the name of any other one, and on bytes that are no
/// pickle. Neither bytes nor values can overflow the stack: no step recurses.
[[nodiscard]] Pickle parse_pickle(std::string_view bytes, const std::string& where,
                                  std::uint64_t most_bytes = kMaxPickleBytes);

}  // namespace fovea
