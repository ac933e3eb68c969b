// The settings of a model family, each described once. A configuration struct has a function that
// visits its settings; reading, writing, the programs' flags and their help follow from it:
//
//   void visit(ConfigFields& v, PegConfig& c) {
//     v("peg_kernel", &c.kernel, {1, 1001}).flag("CPVT", "side of the kernel, odd");
//     v("peg_padding", &c.padding).flag("CPVT", "padding; without it the grid shrinks");
//   }
//
// A field's target reads and writes, so no setting can be read but not written.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/fields.h"
#include "engine/base/names.h"

namespace fovea {

/// A setting as a flag of the programs; the flag is the key with `-` instead of `_`.
struct ModelFlag {
  enum class Kind { value, yes_no, size, list, object };

  std::string key;
  Kind kind = Kind::value;
  std::vector<std::string> choices{};  ///< allowed names; empty: any value
  std::string group{};                 ///< heading in --help
  std::string help{};
  std::vector<std::string> other_names{};  ///< names in other programs
  std::string implies{};                   ///< key of a switch that the flag turns on
};

/// One setting, bound to the variable that holds it.
struct ConfigField {
  using Size = std::array<std::int64_t, 2>;  ///< height and width, or one number for both
  using List = std::vector<std::int64_t>;
  using Target = std::variant<Access<bool>, Access<std::int64_t>, Access<double>,
                              Access<std::optional<std::int64_t>>, Access<std::string>,
                              Access<Size>, Access<List>, Access<nlohmann::json>>;
  struct Rule {
    double low = 1, high = 1 << 24;  ///< range of numbers, both ends included
    bool required = false;           ///< a configuration without the key is refused
    bool nullable = false;           ///< null means the same as a missing key
    bool sparse = false;             ///< written only if it differs from the default
  };

  std::string key;
  Target target;
  Rule rule{};
  std::vector<std::string> choices{};    ///< allowed names of an enumeration
  std::function<void()> when_missing{};  ///< sets the value that a missing key means
  /// Tells from settings before this one whether the key is known; empty: always.
  std::function<bool()> applies{};
  std::optional<ModelFlag> offered{};

  /// Offers the setting as a flag. If several families of a task have the key, the first one to
  /// offer it describes the flag.
  ConfigField& flag(std::string group, std::string help, std::vector<std::string> other_names = {});
};

/// The fields of a configuration, in the order of --help.
class ConfigFields {
 public:
  /// Adds a switch, a number, a text, a size, a list or an object.
  ConfigField& operator()(std::string key, ConfigField::Target target,
                          ConfigField::Rule rule = {}) {
    return add({std::move(key), std::move(target), rule});
  }
  /// Adds a choice among the members of an enumeration.
  template <class Enum>
  requires std::is_enum_v<Enum> ConfigField& operator()(std::string key, Enum* target,
                                                        ConfigField::Rule rule = {}) {
    const Access<std::string> named(
        [target] { return name_of(*target); },
        [target](const std::string& name) { *target = *find_named<Enum>(name); });
    ConfigField& field = (*this)(std::move(key), named, rule);
    field.choices = names_of<Enum>();
    return field;
  }
  ConfigField& add(ConfigField field);
  /// Computes values that follow from several settings, after all are read.
  void derive(std::function<void()> values) { derived_.push_back(std::move(values)); }

  /// Reads an object strictly, see ConfigReader. `context` starts the errors.
  void read(const std::string& context, const nlohmann::json& object) const;
  /// `usual` has the same fields with default values.
  [[nodiscard]] nlohmann::json write(const ConfigFields& usual) const;
  [[nodiscard]] std::vector<ModelFlag> flags() const;
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }

 private:
  std::vector<ConfigField> fields_;
  std::vector<std::function<void()>> derived_;
};

/// The fields of `config`, which must outlive them.
template <class Config>
[[nodiscard]] ConfigFields config_fields(Config& config) {
  ConfigFields fields;
  visit(fields, config);
  return fields;
}

/// The configuration in `object`; a missing key leaves the value of `config`.
template <class Config>
[[nodiscard]] Config read_config(const std::string& context, const nlohmann::json& object,
                                 Config config = {}) {
  config_fields(config).read(context, object);
  return config;
}

/// The configuration as a JSON object, a nlohmann::json, which is not a complete type here.
template <class Config>
[[nodiscard]] auto write_config(Config config) {
  Config usual;
  return config_fields(config).write(config_fields(usual));
}

}  // namespace fovea
