// Settings described once: name, type, range, help. Flags, JSON files, --help, the start-up table
// and config.json are all made from the same list of fields.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
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

/// A member of an enumeration behind its names (base/names.h).
struct NamedTarget {
  void* value;
  std::string (*get)(const void* value);
  void (*set)(void* value, std::string_view name);  ///< `name` is one of the field's choices
};

/// One setting, bound to the variable that holds it.
struct Field {
  using Target = std::variant<bool*, std::int64_t*, double*, std::optional<double>*, std::string*,
                              std::vector<double>*, NamedTarget>;

  std::string name;   ///< as a flag, without the dashes in front: "batch-size"
  std::string group;  ///< heading in --help
  Target target;
  std::string help;
  double low = -std::numeric_limits<double>::infinity();  ///< of numbers, both ends included
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};  ///< of strings and names; empty: any
  std::size_t count = 0;               ///< of lists; 0: any
  bool may_be_empty = false;           ///< of lists: "none" is none
  bool yes_no = false;                 ///< a text that is true, false or empty: not said
  bool saved = true;                   ///< belongs to what a run is; stands in config.json
};
using Fields = std::vector<Field>;

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
  void choice(std::string name, std::string* target, std::string help,
              std::vector<std::string> choices);
  /// One of an enumeration's members, or of those that are named.
  template <class Enum>
  void choice(std::string name, Enum* target, std::string help,
              std::vector<std::string> choices = names_of<Enum>()) {
    const NamedTarget named{
        target, [](const void* value) { return name_of(*static_cast<const Enum*>(value)); },
        [](void* value, std::string_view text) {
          *static_cast<Enum*>(value) = *find_named<Enum>(text);
        }};
    add(std::move(name), named, std::move(help)).choices = std::move(choices);
  }
  /// Does not say what a run is, but what to do with it now: not saved.
  void once(std::string name, Field::Target target, std::string help);

 private:
  Fields& fields_;
  std::string name_;
};

/// Throws UsageError, naming the nearest known one, when there is no such field. `_` reads as `-`;
/// `where` begins the message.
[[nodiscard]] const Field& find_field(const Fields& fields, std::string_view name,
                                      std::string_view where);

/// Parses and stores. Numbers must be finite, of the field's type and in its range; lists are
/// separated by commas or blanks. Throws UsageError.
void set_field(const Field& field, std::string_view text);

/// The value as one would write it after the flag; "none" for an optional number that is not set.
[[nodiscard]] std::string field_text(const Field& field);
/// "integer, 1 to 65536", "one of builtin, cifar10", ... for --help and errors.
[[nodiscard]] std::string expected_text(const Field& field);

/// Sets fields from a JSON object of names and values. Unknown names are errors; the name "about"
/// is free for remarks and ignored. `where` (a path) begins every message.
void apply_json(const Fields& fields, std::string_view json, const std::string& where);
/// The same from a file, which may name another one beside it that it "extends": that one's
/// settings come first.
void apply_json_file(const Fields& fields, const std::filesystem::path& path);
/// The reverse, for config.json: only `saved` fields, and of texts those that are not empty.
/// `about` is a JSON value, or empty.
[[nodiscard]] std::string to_json(const Fields& fields, const std::string& about = {});

/// Name and value columns under their groups, for the start of a run: of all fields, or of those
/// that differ from the same ones in `usual`. Empty where none does.
[[nodiscard]] std::string settings_table(const Fields& fields);
[[nodiscard]] std::string settings_table(const Fields& fields, const Fields& usual);

}  // namespace fovea
