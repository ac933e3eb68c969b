// Settings from and to JSON. A value may be written as JSON or as the text after the flag.
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/files.h"
#include "base/json.h"

namespace fovea {
namespace {

using Json = nlohmann::ordered_json;

/// A JSON value as the text that would stand after the flag.
std::string text_of(const Field& field, const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "none";
  if (value.is_boolean() || value.is_number() || value.is_object()) return json_text(value);
  std::string text;
  if (value.is_array()) {
    if (value.empty() && field.may_be_empty) return "none";
    for (const Json& item : value) {
      if (!item.is_number()) break;
      text.append(text.empty() ? "" : ",").append(json_text(item));
    }
  }
  if (text.empty()) {
    throw UsageError(where + ": " + field.name + ": got " + json_text(value) + ", expected " +
                     expected_text(field));
  }
  return text;
}

Json json_of(const Field& field) {
  return std::visit(
      [](const auto& target) -> Json {
        using Target = std::decay_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, NamedTarget>) {
          return target.get(target.value);
        } else if constexpr (std::is_same_v<Target, std::optional<double>*>) {
          return target->has_value() ? Json(**target) : Json();
        } else {
          return *target;
        }
      },
      field.target);
}

/// Depth, size and syntax are checked before anything is stored.
Json parse_object(std::string_view text, const std::string& where) {
  const auto limit = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMostNesting) throw UsageError(where + ": nested too deeply");
    return true;
  };
  try {
    Json object = Json::parse(text, limit);
    if (!object.is_object()) throw UsageError(where + ": expected a JSON object of settings");
    return object;
  } catch (const Json::exception& error) {
    throw UsageError(where + ": not valid JSON: " + error.what());
  }
}

}  // namespace

void apply_json(const Fields& fields, std::string_view json, const std::string& where) {
  const Json object = parse_object(json, where);
  for (const auto& [name, value] : object.items()) {
    if (name == "about" || name == "extends") continue;
    const Field& field = find_field(fields, name, where);
    try {
      set_field(field, text_of(field, value, where));
    } catch (const UsageError& error) {
      throw UsageError(where + ": " + error.what());
    }
  }
}

void apply_json_file(const Fields& fields, const std::filesystem::path& path) {
  constexpr std::size_t kMostFiles = 8;
  std::vector<std::pair<std::string, std::string>> files;  // path and text, each before its base
  for (std::filesystem::path next = path; !next.empty();) {
    if (files.size() == kMostFiles) throw UsageError(path.string() + ": extends too many files");
    files.emplace_back(next.string(), read_file(next));
    const Json base = parse_object(files.back().second, next.string()).value("extends", Json(""));
    if (!base.is_string()) {
      throw UsageError(next.string() + ": extends: got " + json_text(base) +
                       ", expected a file's name");
    }
    const std::string name = base.get<std::string>();
    next = name.empty() ? std::filesystem::path() : next.parent_path() / name;
  }
  for (; !files.empty(); files.pop_back()) {
    apply_json(fields, files.back().second, files.back().first);
  }
}

std::string to_json(const Fields& fields, const std::string& about) {
  Json object = Json::object();
  for (const Field& field : fields) {
    const auto* const* text = std::get_if<std::string*>(&field.target);
    const bool unsaid = text != nullptr && (*text)->empty();
    if (field.saved && !unsaid) object[field.name] = json_of(field);
  }
  if (!about.empty()) object["about"] = Json::parse(about);
  return json_text(object, 2) + "\n";
}

}  // namespace fovea
