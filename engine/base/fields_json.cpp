// Settings from and to JSON. A value may be native JSON or the text that follows the flag.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/json_syntax.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using Json = nlohmann::ordered_json;

/// Joins the items up to the first one of another type, in the syntax of the flag.
std::string list_text(const Field& field, const Json& list) {
  const bool of_texts = field.holds<Field::Texts>();
  std::string text;
  for (const Json& item : list) {
    if (of_texts ? !item.is_string() : !item.is_number()) break;
    text.append(text.empty() ? "" : of_texts ? " " : ",");
    text.append(of_texts ? item.get<std::string>() : json_text(item));
  }
  return text;
}

/// {"head": 10, "blocks": 0.5} becomes "head=10 blocks=0.5".
std::string pairs_text(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    text.append(text.empty() ? "" : " ").append(name).append("=").append(json_text(value));
  }
  return text.empty() ? "none" : text;
}

/// A JSON value in the syntax of the flag.
std::string text_of(const Field& field, const Json& value, const std::string& context) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "none";
  if (value.is_object() && field.holds<Field::Texts>()) return pairs_text(value);
  if (value.is_boolean() || value.is_number() || value.is_object()) return json_text(value);
  if (value.is_array() && value.empty() && field.may_be_empty) return "none";
  const std::string text = value.is_array() ? list_text(field, value) : "";
  if (text.empty()) {
    throw UsageError(context + ": --" + field.name + ": got " + json_text(value) + ", expected " +
                     expected_text(field));
  }
  return text;
}

Json json_of(const Field& field) {
  return std::visit(
      [](const auto& target) -> Json {
        auto value = target.get();
        if constexpr (std::is_same_v<decltype(value), std::optional<double>>) {
          return value ? Json(*value) : Json();
        } else {
          return value;
        }
      },
      field.target);
}

/// Checks depth, size, syntax and duplicate names before anything is stored. C++ comments are
/// ignored.
Json parse_object(std::string_view text, const std::string& context) {
  DistinctNames names;
  const auto limit = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMaxNesting) throw UsageError(context + ": nested too deeply");
    if (event == Json::parse_event_t::object_start) names.begin(depth);
    if (event == Json::parse_event_t::key && !names.is_new(depth, value.get<std::string>())) {
      throw UsageError(context + ": " + json_text(value) + " is given twice, expected it once");
    }
    return true;
  };
  try {
    Json object = Json::parse(text, limit, /*allow_exceptions=*/true, /*ignore_comments=*/true);
    if (!object.is_object()) throw UsageError(context + ": expected a JSON object of settings");
    return object;
  } catch (const Json::parse_error& error) {
    throw UsageError(context + ": " + syntax_complaint(text, error.byte));
  } catch (const Json::exception& error) {
    throw UsageError(context + ": not valid JSON: " + error.what());
  }
}

using Others = std::vector<OtherSettings>;

const Field* find_other(const Others& others, const std::string& name) {
  for (const OtherSettings& other : others) {
    if (const Field* const found = lookup_field(other.fields, name)) return found;
  }
  return nullptr;
}

/// Whether the value equals the field's current one, so that setting it would change nothing.
bool asks_for_nothing(const Field& field, const std::string& text) {
  const std::string usual = field_text(field);
  set_field(field, text);
  const bool same = field_text(field) == usual;
  if (!same) set_field(field, usual);
  return same;
}

std::string starting_with(const std::string& context, const std::string& message) {
  return message.starts_with(context + ":") ? message : context + ": " + message;
}

/// Rejects unknown names, all of them in one message: a file of another program may contain many.
void refuse_unknown(const Fields& fields, const Json& object, const std::string& context,
                    const Others& others) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> unknown;
  for (const auto& item : object.items()) {
    const std::string& name = item.key();
    const bool known = name == "about" || name == "extends" ||
                       find_other(others, name) != nullptr || lookup_field(fields, name) != nullptr;
    if (!known) unknown.push_back(name);
  }
  if (unknown.size() < 2) return;  // a single one gets its own message with the nearest name
  const std::size_t more = unknown.size() - std::min(unknown.size(), kShown);
  unknown.resize(unknown.size() - more);
  throw UsageError(context + ": unknown settings " + join(unknown, ", ") +
                   (more > 0 ? " and " + std::to_string(more) + " more" : ""));
}

std::vector<Setting> settings_in(const Fields& fields, const Json& object,
                                 const std::string& context, const Others& others,
                                 OthersAre others_are = OthersAre::refused) {
  refuse_unknown(fields, object, context, others);
  std::vector<Setting> settings;
  std::map<std::string, std::string> set_by;  // setting -> its name in the file
  for (const auto& [name, value] : object.items()) {
    if (name == "about" || name == "extends") continue;
    const Field* const other = find_other(others, name);
    if (other != nullptr && others_are == OthersAre::ignored) continue;
    try {
      if (other != nullptr && asks_for_nothing(*other, text_of(*other, value, context))) continue;
      const Field& field = find_field(fields, name, context, others);
      const auto [first, is_new] = set_by.emplace(field.name, name);
      if (!is_new) {
        throw UsageError(first->second + " and " + name +
                         " are the same setting, expected one of them");
      }
      settings.push_back({field.name, text_of(field, value, context), context});
    } catch (const UsageError& error) {
      throw UsageError(starting_with(context, error.what()));
    }
  }
  return settings;
}

}  // namespace

void set_fields(const Fields& fields, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    try {
      set_field(find_field(fields, setting.name, setting.source), setting.text);
    } catch (const UsageError& error) {
      if (setting.source == Setting::kFlag) throw;
      throw UsageError(starting_with(setting.source, error.what()));
    }
  }
}

std::vector<Setting> settings_in_json(const Fields& fields, std::string_view json,
                                      const std::string& context, const Others& others,
                                      OthersAre others_are) {
  return settings_in(fields, parse_object(json, context), context, others, others_are);
}

void apply_json(const Fields& fields, std::string_view json, const std::string& context,
                const Others& others) {
  set_fields(fields, settings_in_json(fields, json, context, others));
}

std::string text_in_json(const Field& field, std::string_view json, const std::string& context) {
  const Json object = parse_object(json, context);
  for (const auto& [name, value] : object.items()) {
    if (lookup_field({field}, name) != nullptr) return text_of(field, value, context);
  }
  return "";
}

std::vector<Setting> settings_in_file(const Fields& fields, const std::filesystem::path& path,
                                      const Others& others) {
  constexpr std::size_t kMaxFiles = 8;
  std::vector<Setting> settings;
  std::size_t files = 0;
  for (std::filesystem::path next = path; !next.empty();) {
    if (++files > kMaxFiles) throw UsageError(path.string() + ": extends too many files");
    const std::string context = next.string();
    const Json object = parse_object(read_file(next), context);
    const std::vector<Setting> own = settings_in(fields, object, context, others);
    settings.insert(settings.begin(), own.begin(), own.end());
    const Json base = object.value("extends", Json(""));
    if (!base.is_string()) {
      throw UsageError(context + ": extends: got " + json_text(base) + ", expected a file's name");
    }
    const std::string name = base.get<std::string>();
    next = name.empty() ? std::filesystem::path() : next.parent_path() / name;
  }
  return settings;
}

std::string to_json(const Fields& fields, const std::string& about) {
  Json object = Json::object();
  for (const Field& field : fields) {
    const bool unsaid = field.holds<std::string>() && field_text(field).empty();
    if (field.saved && !unsaid) object[field.name] = json_of(field);
  }
  if (!about.empty()) object["about"] = Json::parse(about);
  return json_text(object, 2) + "\n";
}

}  // namespace fovea
