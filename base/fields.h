// Settings described once: name, type, range, help. Flags, JSON files, --help, the start-up table
// and config.json are all made from the same list of fields.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/names.h"

namespace fovea {

/// A mistake in a flag or a configuration. Apps exit with 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// check() for usage: throws UsageError with the streamed parts unless `ok`.
template <class... Parts>
void check_usage(bool ok, const Parts&... parts) {
  if (ok) return;
  std::ostringstream message;
  (message << ... << parts);
  throw UsageError(message.str());
}

/// Upper end of counts: far above anything real, far below an overflow.
inline constexpr double kMaxCount = 1e9;

namespace detail {

/// Whether a field that reads and writes T can stand for a variable of type U.
template <class U, class T>
inline constexpr bool kStandsFor = std::is_same_v<U, T> ||
                                   (std::is_same_v<T, std::int64_t> && std::is_integral_v<U> &&
                                    !std::is_same_v<U, bool>) ||
                                   (std::is_same_v<T, std::string> &&
                                    std::is_same_v<U, std::filesystem::path>);

}  // namespace detail

/// Reads and writes one setting: a variable, or something that is kept in another form than it is
/// said.
template <class T>
struct Access {
  std::function<T()> get;
  std::function<void(const T& value)> set;  ///< may throw UsageError

  Access(std::function<T()> getter, std::function<void(const T& value)> setter)
      : get(std::move(getter)), set(std::move(setter)) {}
  template <class U>
  requires detail::kStandsFor<U, T> Access(
      U* variable)  // NOLINT: a pointer is what most fields are made from
      : get([variable] { return read(*variable); }),
        set([variable](const T& value) { *variable = static_cast<U>(value); }) {}

 private:
  template <class U>
  static T read(const U& variable) {
    if constexpr (std::is_same_v<U, std::filesystem::path>) {
      return variable.string();
    } else {
      return static_cast<T>(variable);
    }
  }
};

/// Whole numbers in a variable that is computed with as a real one.
[[nodiscard]] Access<std::int64_t> whole(double* variable);

/// One setting, bound to the variable that holds it.
struct Field {
  using Numbers = std::vector<double>;
  using Texts = std::vector<std::string>;
  using Target = std::variant<Access<bool>, Access<std::int64_t>, Access<double>,
                              Access<std::optional<double>>, Access<std::string>, Access<Numbers>,
                              Access<Texts>>;  ///< texts are separated by blanks

  std::string name;   ///< as a flag, without the dashes in front: "batch-size"
  std::string group;  ///< heading in --help
  Target target;
  std::string help;
  double low = -std::numeric_limits<double>::infinity();  ///< of numbers, both ends included
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};      ///< of texts and names; empty: any
  std::size_t count = 0;                   ///< of lists of numbers; 0: any
  bool may_be_empty = false;               ///< of lists: "none" is none
  bool yes_no = false;                     ///< a text that is true, false or empty: not said
  bool saved = true;                       ///< belongs to what a run is; stands in config.json
  bool fixed = false;                      ///< a saved state needs it as it was
  std::vector<std::string> other_names{};  ///< what other programs call it: "drop-connect"

  template <class T>
  [[nodiscard]] bool holds() const {
    return std::holds_alternative<Access<T>>(target);
  }
};
using Fields = std::vector<Field>;

/// The same fields with each group in one place: in the order of their first fields, but for the
/// one that comes last.
[[nodiscard]] Fields grouped(const Fields& fields, std::string_view last);

/// Settings that something else has. A flag of such a name is answered with whose it is.
struct OtherSettings {
  std::string owner;             ///< "a setting of classifiers"
  std::shared_ptr<void> values;  ///< what the fields are bound to
  Fields fields;                 ///< their values ask for nothing
};

/// Adds settings under one heading of --help.
class FieldGroup {
 public:
  struct Range {
    double low, high;
  };

  FieldGroup(Fields& fields, std::string name) : fields_(fields), name_(std::move(name)) {}

  /// A text or a switch.
  Field& add(std::string name, Field::Target target, std::string help);
  /// A number, or a list of numbers.
  Field& number(std::string name, Field::Target target, std::string help, Range range);
  Field& choice(std::string name, Access<std::string> target, std::string help,
                std::vector<std::string> choices);
  /// One of an enumeration's members, or of those that are named.
  template <class Enum>
  requires std::is_enum_v<Enum> Field& choice(std::string name, Enum* target, std::string help,
                                              std::vector<std::string> choices = names_of<Enum>()) {
    const Access<std::string> named(
        [target] { return name_of(*target); },
        [target](const std::string& text) { *target = *find_named<Enum>(text); });
    return choice(std::move(name), named, std::move(help), std::move(choices));
  }
  /// Does not say what a run is, but what to do with it now: not saved.
  Field& once(std::string name, Field::Target target, std::string help);

 private:
  Fields& fields_;
  std::string name_;
};

/// The field of that name, or that has it among its other names; none: null. `_` reads as `-`.
[[nodiscard]] const Field* lookup_field(const Fields& fields, std::string_view name);
/// Throws UsageError when there is no such field: naming the nearest known one, or whose it is
/// where it is among `others`. `where` begins the message.
[[nodiscard]] const Field& find_field(const Fields& fields, std::string_view name,
                                      std::string_view where,
                                      const std::vector<OtherSettings>& others = {});

/// Parses and stores. Numbers must be finite, of the field's type (1.0 is whole) and in its range;
/// lists are separated by commas or blanks. Blanks around anything but a text do not count. Throws
/// UsageError.
void set_field(const Field& field, std::string_view text);

/// The value as one would write it after the flag; "none" for an optional number that is not set.
[[nodiscard]] std::string field_text(const Field& field);
/// "integer, 1 to 65536", "one of builtin, cifar10", ... for --help and errors.
[[nodiscard]] std::string expected_text(const Field& field);

/// Sets fields from a JSON object of names and values. Unknown names are errors; the name "about"
/// is free for remarks and ignored. `where` (a path) begins every message.
///
/// A name among `others` may be there with the value that asks for nothing; another value is an
/// error.
void apply_json(const Fields& fields, std::string_view json, const std::string& where,
                const std::vector<OtherSettings>& others = {});
/// The same for the settings of a saved run: names among `others` are ignored, whatever their
/// value.
void apply_saved_json(const Fields& fields, std::string_view json, const std::string& where,
                      const std::vector<OtherSettings>& others);
/// As apply_json(), from a file, which may name another one next to it that it "extends": that
/// one's settings come first.
void apply_json_file(const Fields& fields, const std::filesystem::path& path,
                     const std::vector<OtherSettings>& others = {});
/// The text of one setting in a JSON object; "" where it says nothing of it. Throws UsageError
/// where it is not such an object.
[[nodiscard]] std::string text_in_json(const Field& field, std::string_view json,
                                       const std::string& where);
/// The reverse, for config.json: only `saved` fields, and of texts those that are not empty.
/// `about` is a JSON value, or empty.
[[nodiscard]] std::string to_json(const Fields& fields, const std::string& about = {});

/// Name and value columns under their groups, for the start of a run: of all fields, or of those
/// that differ from the same ones in `usual`. Empty where none does.
[[nodiscard]] std::string settings_table(const Fields& fields);
[[nodiscard]] std::string settings_table(const Fields& fields, const Fields& usual);

}  // namespace fovea
