// Configurations from and to JSON, field by field.
#include "models/config_fields.h"

#include <nlohmann/json.hpp>

#include "models/config_reader.h"

namespace fovea {
namespace {

using nlohmann::json;

template <class T>
void read_value(ConfigReader& r, const ConfigField& field, T& value) {
  constexpr bool has_integers =
      std::is_same_v<T, std::int64_t> || std::is_same_v<T, ConfigField::List>;
  const double low = field.rule.low, high = field.rule.high;
  if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
    read_value(r, field, value.emplace());
  } else if constexpr (has_integers) {
    r.read(field.key, value, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  } else if constexpr (std::is_same_v<T, double>) {
    r.read(field.key, value, low, high);
  } else if constexpr (std::is_same_v<T, bool>) {
    r.read(field.key, value);
  } else if constexpr (std::is_same_v<T, ConfigField::Size>) {
    r.read_size(field.key, value);
  } else if constexpr (std::is_same_v<T, json>) {
    r.read_object(field.key, value);
  } else if (field.choices.empty()) {
    r.read_text(field.key, value);
  } else {
    value = r.read_name(field.key, field.choices, value);
  }
}

json value_of(const ConfigField& field) {
  return std::visit(
      [](const auto& target) -> json {
        auto value = target.get();
        if constexpr (std::is_same_v<decltype(value), std::optional<std::int64_t>>) {
          return value ? json(*value) : json(nullptr);
        } else {
          return value;
        }
      },
      field.target);
}

ModelFlag::Kind kind_of(const ConfigField& field) {
  using Kind = ModelFlag::Kind;
  if (std::holds_alternative<Access<bool>>(field.target)) return Kind::yes_no;
  if (std::holds_alternative<Access<ConfigField::Size>>(field.target)) return Kind::size;
  if (std::holds_alternative<Access<ConfigField::List>>(field.target)) return Kind::list;
  if (std::holds_alternative<Access<json>>(field.target)) return Kind::object;
  return Kind::value;
}

}  // namespace

ConfigField& ConfigField::flag(std::string group, std::string help,
                               std::vector<std::string> other_names) {
  offered = ModelFlag{
      key, kind_of(*this), choices, std::move(group), std::move(help), std::move(other_names)};
  return *this;
}

ConfigField& ConfigFields::add(ConfigField field) {
  fields_.push_back(std::move(field));
  return fields_.back();
}

void ConfigFields::read(const std::string& context, const json& object) const {
  ConfigReader r(context, object);
  for (const ConfigField& field : fields_) {
    if (field.applies && !field.applies()) continue;
    if (field.rule.required) r.require(field.key);
    const bool is_given = r.contains(field.key) && !(field.rule.nullable && r.is_null(field.key));
    if (!is_given && field.when_missing) field.when_missing();
    if (!is_given) continue;
    const auto read_into = [&](const auto& target) {
      auto value = target.get();
      read_value(r, field, value);
      target.set(value);
    };
    std::visit(read_into, field.target);
  }
  r.finish();
  for (const auto& derive : derived_) derive();
}

json ConfigFields::write(const ConfigFields& usual) const {
  json config = json::object();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const ConfigField& field = fields_[i];
    if (field.applies && !field.applies()) continue;
    json value = value_of(field);
    if (field.rule.sparse && value == value_of(usual.fields_[i])) continue;
    config[field.key] = std::move(value);
  }
  return config;
}

std::vector<ModelFlag> ConfigFields::flags() const {
  std::vector<ModelFlag> flags;
  for (const ConfigField& field : fields_) {
    if (field.offered) flags.push_back(*field.offered);
  }
  return flags;
}

}  // namespace fovea
