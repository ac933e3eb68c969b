// Settings, each described once: name, type, range, help. One list of fields produces flags, JSON
// files, --help, the start-up table and config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/names.h"

namespace fovea {

/// A mistake in a flag or configuration. Apps exit with 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// check() for usage: throws UsageError with the streamed parts unless `ok`.
template <class... Parts>
void check_usage(bool ok, const Parts&... parts) {
  if (ok) return;
  throw UsageError(concat(parts...));
}

/// Upper bound of counts: far above any realistic value, far below an overflow.
inline constexpr double kMaxCount = 1e9;

namespace detail {

/// Whether a field that reads and writes T can be bound to a variable of type U.
template <class U, class T>
inline constexpr bool kStandsFor = std::is_same_v<U, T> ||
                                   (std::is_same_v<T, std::int64_t> && std::is_integral_v<U> &&
                                    !std::is_same_v<U, bool>) ||
                                   (std::is_same_v<T, std::string> &&
                                    std::is_same_v<U, std::filesystem::path>);

}  // namespace detail

/// Reads and writes one setting: a variable, or something stored in a different form than the user
/// writes it.
template <class T>
struct Access {
  std::function<T()> get;
  std::function<void(const T& value)> set;  ///< may throw UsageError

  Access(std::function<T()> getter, std::function<void(const T& value)> setter)
      : get(std::move(getter)), set(std::move(setter)) {}
  template <class U>
  requires detail::kStandsFor<U, T> Access(
      U* variable)  // NOLINT: most fields are made from a pointer
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

/// Integers in a variable that is used as a real number.
[[nodiscard]] Access<std::int64_t> whole(double* variable);

/// One setting, bound to the variable that holds it.
struct Field {
  using Numbers = std::vector<double>;
  using Texts = std::vector<std::string>;
  using Target = std::variant<Access<bool>, Access<std::int64_t>, Access<double>,
                              Access<std::optional<double>>, Access<std::string>, Access<Numbers>,
                              Access<Texts>>;  ///< list of texts, separated by blanks

  std::string name;   ///< the flag without its leading dashes: "batch-size"
  std::string group;  ///< heading in --help
  Target target;
  std::string help;
  double low = -std::numeric_limits<double>::infinity();  ///< range of numbers, both ends included
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};      ///< allowed texts or names; empty: any
  std::size_t count = 0;                   ///< length of a list of numbers; 0: any
  bool may_be_empty = false;               ///< for lists: "none" means an empty list
  bool yes_no = false;                     ///< a text that is true, false or empty (not set)
  bool saved = true;                       ///< whether config.json contains it
  bool fixed = false;                      ///< whether resuming requires the saved value
  std::vector<std::string> other_names{};  ///< names in other programs: "drop-connect"

  template <class T>
  [[nodiscard]] bool holds() const {
    return std::holds_alternative<Access<T>>(target);
  }
};
using Fields = std::vector<Field>;

/// The same fields with each group contiguous: groups in the order of their first fields, except
/// that `last` comes last.
[[nodiscard]] Fields grouped(const Fields& fields, std::string_view last);

/// A setting as it is written: its name, and the text that would follow its flag.
struct Setting {
  std::string name, text;
  std::string source = kFlag;  ///< where it is written: "recipe builtin", a file's path

  static constexpr const char* kFlag = "flag";
};
/// The last setting of this name, which overrides earlier ones; null if there is none.
[[nodiscard]] const Setting* find_setting(const std::vector<Setting>& settings,
                                          std::string_view name);
/// The text of that setting; "" if there is none.
[[nodiscard]] std::string setting_text(const std::vector<Setting>& settings, std::string_view name);

/// Setting::source of all fields that were set, by name.
using Sources = std::map<std::string, std::string>;
/// The source of a field; "default" if it was not set.
[[nodiscard]] std::string source_of(const Sources& sources, const std::string& name);

/// Settings of another task or program. A flag with one of these names is rejected with the name of
/// its owner.
struct OtherSettings {
  std::string owner;             ///< "a setting of classifiers"
  std::shared_ptr<void> values;  ///< the object that the fields are bound to
  Fields fields;                 ///< fields whose default values have no effect
};

/// Settings of others in a file: refused unless they have their neutral value, or ignored.
enum class OthersAre { refused, ignored };

/// Adds settings under one heading of --help.
class FieldGroup {
 public:
  struct Range {
    double low, high;
  };

  FieldGroup(Fields& fields, std::string name) : fields_(fields), name_(std::move(name)) {}

  /// Adds a text or a switch.
  Field& add(std::string name, Field::Target target, std::string help);
  /// Adds a number or a list of numbers.
  Field& number(std::string name, Field::Target target, std::string help, Range range);
  Field& choice(std::string name, Access<std::string> target, std::string help,
                std::vector<std::string> choices);
  /// Adds a choice among all members of an enumeration, or among the listed ones.
  template <class Enum>
  requires std::is_enum_v<Enum> Field& choice(std::string name, Enum* target, std::string help,
                                              std::vector<std::string> choices = names_of<Enum>()) {
    const Access<std::string> named(
        [target] { return name_of(*target); },
        [target](const std::string& text) { *target = *find_named<Enum>(text); });
    return choice(std::move(name), named, std::move(help), std::move(choices));
  }
  /// Adds a setting of this invocation that does not describe the run: not saved.
  Field& once(std::string name, Field::Target target, std::string help);

 private:
  Fields& fields_;
  std::string name_;
};

/// The field with this name or other name; null if there is none. `_` and `-` are equivalent.
[[nodiscard]] const Field* lookup_field(const Fields& fields, std::string_view name);
/// Throws UsageError when there is no field of this name. The message starts with `context` and
/// names the nearest known field, or the owner if the name is among `others`.
[[nodiscard]] const Field& find_field(const Fields& fields, std::string_view name,
                                      std::string_view context,
                                      const std::vector<OtherSettings>& others = {});

/// Parses and stores a value. Numbers must be finite, of the field's type (1.0 is an integer) and
/// in range; lists are separated by commas or blanks. Blanks around values are ignored, except in
/// texts. Throws UsageError.
void set_field(const Field& field, std::string_view text);

/// The value as written after the flag; "none" for an optional number that is not set.
[[nodiscard]] std::string field_text(const Field& field);
/// "integer, 1 to 65536", "one of builtin, cifar10", ... for --help and errors.
[[nodiscard]] std::string expected_text(const Field& field);

/// Sets fields by name, in that order. Errors start with the setting's source unless it is a flag.
void set_fields(const Fields& fields, const std::vector<Setting>& settings);

/// The settings in a JSON object, in its order, under the names of their fields. Unknown names are
/// errors, except "about", which is reserved for remarks and ignored. `context`, a path, is the
/// settings' source and starts every message.
///
/// A name among `others` is left out. Unless these are ignored, its value must be the neutral one,
/// which requests nothing.
[[nodiscard]] std::vector<Setting> settings_in_json(const Fields& fields, std::string_view json,
                                                    const std::string& context,
                                                    const std::vector<OtherSettings>& others = {},
                                                    OthersAre others_are = OthersAre::refused);
/// settings_in_json() for a file. It may name another file next to it that it "extends": the
/// settings of that file come first.
[[nodiscard]] std::vector<Setting> settings_in_file(const Fields& fields,
                                                    const std::filesystem::path& path,
                                                    const std::vector<OtherSettings>& others = {});
/// Sets fields to settings_in_json().
void apply_json(const Fields& fields, std::string_view json, const std::string& context,
                const std::vector<OtherSettings>& others = {});
/// The text of one setting in a JSON object; "" where the object does not contain it. Throws
/// UsageError when the text is not a JSON object.
[[nodiscard]] std::string text_in_json(const Field& field, std::string_view json,
                                       const std::string& context);
/// The inverse of apply_json(), for config.json: only `saved` fields, without empty texts. `about`
/// is a JSON value, or empty.
[[nodiscard]] std::string to_json(const Fields& fields, const std::string& about = {});

/// A table of names and values by group, for the start of a run: of all fields, or of the fields
/// that differ from `usual`. Empty if none differ.
[[nodiscard]] std::string settings_table(const Fields& fields);
[[nodiscard]] std::string settings_table(const Fields& fields, const Fields& usual);
/// A table of all fields, one to a line: name, value and source. Empty texts are left out.
[[nodiscard]] std::string sources_table(const Fields& fields, const Sources& sources);

}  // namespace fovea
