// Parsing, checking and printing of single settings.
#include "engine/base/fields.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/base/files.h"
#include "engine/base/names.h"
#include "engine/base/text.h"
#include "engine/base/text_table.h"

namespace fovea {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw UsageError(concat(parts...));
}

[[noreturn]] void refuse_value(const Field& field, std::string_view text) {
  refuse("--", field.name, ": got ", text.empty() ? "nothing" : text, ", expected ",
         expected_text(field));
}

/// Parses an integer written as "64", "64.0" or "1e2".
std::optional<std::int64_t> parse_whole(std::string_view text) {
  constexpr double kExact = 1LL << 53;
  if (const auto value = parse_integer(text)) return value;
  const std::optional<double> real = parse_real(text);
  if (!real || !(std::abs(*real) <= kExact) || *real != std::trunc(*real)) return {};
  return static_cast<std::int64_t>(*real);
}

template <class T>
T parse_number(const Field& field, std::string_view text) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  std::optional<T> value;
  if constexpr (std::is_integral_v<T>) {
    value = parse_whole(digits);
  } else {
    value = parse_real(digits);
  }
  const double number = value ? static_cast<double>(*value) : NAN;
  if (!std::isfinite(number) || number < field.low || number > field.high) {
    refuse_value(field, text);
  }
  return *value;
}

bool parse_bool(const Field& field, std::string_view text) {
  if (text == "true" || text == "1" || text == "on" || text == "yes") return true;
  if (text == "false" || text == "0" || text == "off" || text == "no") return false;
  refuse_value(field, text);
}

std::vector<double> parse_list(const Field& field, std::string_view text) {
  if (field.may_be_empty && (text.empty() || text == "none")) return {};
  std::vector<double> values;
  for (const std::string& word : split_words(text, ",")) {
    values.push_back(parse_number<double>(field, word));
  }
  if (values.empty() || (field.count != 0 && values.size() != field.count)) {
    refuse_value(field, text);
  }
  return values;
}

struct Setter {
  const Field& field;
  std::string_view text;

  void operator()(const Access<bool>& target) const { target.set(parse_bool(field, text)); }
  void operator()(const Access<std::int64_t>& target) const {
    target.set(parse_number<std::int64_t>(field, text));
  }
  void operator()(const Access<double>& target) const {
    target.set(parse_number<double>(field, text));
  }
  void operator()(const Access<std::optional<double>>& target) const {
    target.set(text == "none" ? std::nullopt : std::optional(parse_number<double>(field, text)));
  }
  void operator()(const Access<std::string>& target) const {
    if (field.yes_no && !text.empty()) {
      target.set(parse_bool(field, text) ? "true" : "false");
      return;
    }
    if (!field.choices.empty()) require_choice();
    target.set(std::string(text));
  }
  void operator()(const Access<Field::Numbers>& target) const {
    target.set(parse_list(field, text));
  }
  void operator()(const Access<Field::Texts>& target) const {
    target.set(text == "none" ? Field::Texts() : split_words(text));
  }

  void require_choice() const {
    const auto& choices = field.choices;
    if (std::ranges::find(choices, text) != choices.end()) return;
    refuse("--", field.name, ": got ", text, ", expected ", expected_text(field),
           did_you_mean(text, choices));
  }
};

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return shortest_text(value); }
  std::string operator()(const std::optional<double>& value) const {
    return value ? shortest_text(*value) : "none";
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const Field::Numbers& values) const {
    std::string text;
    for (const double value : values)
      text.append(text.empty() ? "" : ",").append(shortest_text(value));
    return values.empty() ? "none" : text;
  }
  std::string operator()(const Field::Texts& values) const {
    return values.empty() ? "none" : join(values, " ");
  }
};

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string with_dashes(std::string_view name) {
  std::string text(without_blanks(name));
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string range_text(const Field& field) {
  const bool low = std::isfinite(field.low), high = std::isfinite(field.high);
  if (low && high) return ", " + shortest_text(field.low) + " to " + shortest_text(field.high);
  if (low) return ", at least " + shortest_text(field.low);
  return high ? ", at most " + shortest_text(field.high) : "";
}

}  // namespace

Field& FieldGroup::add(std::string name, Field::Target target, std::string help) {
  fields_.push_back({.name = std::move(name),
                     .group = name_,
                     .target = std::move(target),
                     .help = std::move(help)});
  return fields_.back();
}

Field& FieldGroup::number(std::string name, Field::Target target, std::string help, Range range) {
  Field& field = add(std::move(name), std::move(target), std::move(help));
  field.low = range.low;
  field.high = range.high;
  return field;
}

Field& FieldGroup::choice(std::string name, Access<std::string> target, std::string help,
                          std::vector<std::string> choices) {
  Field& field = add(std::move(name), std::move(target), std::move(help));
  field.choices = std::move(choices);
  return field;
}

Field& FieldGroup::once(std::string name, Field::Target target, std::string help) {
  Field& field = add(std::move(name), std::move(target), std::move(help));
  field.saved = false;
  return field;
}

Access<std::int64_t> whole(double* variable) {
  return {[variable] { return static_cast<std::int64_t>(*variable); },
          [variable](std::int64_t value) { *variable = static_cast<double>(value); }};
}

Fields grouped(const Fields& fields, std::string_view last) {
  std::vector<std::string> groups;
  for (const Field& field : fields) {
    if (std::ranges::find(groups, field.group) == groups.end()) groups.push_back(field.group);
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [last](const std::string& group) { return group != last; });
  Fields sorted;
  for (const std::string& group : groups) {
    for (const Field& field : fields) {
      if (field.group == group) sorted.push_back(field);
    }
  }
  return sorted;
}

const Field* lookup_field(const Fields& fields, std::string_view name) {
  const std::string wanted = with_dashes(name);
  const auto has_name = [&](const Field& field) {
    const auto& others = field.other_names;
    return field.name == wanted || std::ranges::find(others, wanted) != others.end();
  };
  const auto found = std::ranges::find_if(fields, has_name);
  return found == fields.end() ? nullptr : &*found;
}

const Field& find_field(const Fields& fields, std::string_view name, std::string_view context,
                        const std::vector<OtherSettings>& others) {
  if (const Field* const found = lookup_field(fields, name)) return *found;
  const std::string wanted = with_dashes(name);
  for (const OtherSettings& other : others) {
    if (lookup_field(other.fields, wanted) != nullptr) refuse("--", wanted, ": ", other.owner);
  }
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name);
  refuse(context, ": unknown setting ", name, did_you_mean(wanted, names));
}

const Setting* find_setting(const std::vector<Setting>& settings, std::string_view name) {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [&](const Setting& setting) { return setting.name == name; });
  return found == settings.rend() ? nullptr : &*found;
}

std::string setting_text(const std::vector<Setting>& settings, std::string_view name) {
  const Setting* const found = find_setting(settings, name);
  return found == nullptr ? "" : found->text;
}

std::string source_of(const Sources& sources, const std::string& name) {
  const auto found = sources.find(name);
  return found == sources.end() ? "default" : found->second;
}

void set_field(const Field& field, std::string_view text) {
  const bool any_text = field.holds<std::string>() && field.choices.empty() && !field.yes_no;
  std::visit(Setter{field, any_text ? text : without_blanks(text)}, field.target);
}

std::string field_text(const Field& field) {
  return std::visit([](const auto& target) { return Printer{}(target.get()); }, field.target);
}

std::string expected_text(const Field& field) {
  if (field.holds<bool>() || field.yes_no) return "true or false";
  if (field.holds<std::int64_t>()) return "an integer" + range_text(field);
  if (field.holds<double>()) return "a finite number" + range_text(field);
  if (field.holds<std::optional<double>>()) return "none or a finite number" + range_text(field);
  if (field.holds<Field::Texts>()) return "none or strings separated by spaces";
  if (field.holds<Field::Numbers>()) {
    const std::string how_many = field.count == 0 ? "" : std::to_string(field.count) + " ";
    return (field.may_be_empty ? "none or " : "") + how_many +
           "finite numbers separated by commas" + range_text(field);
  }
  if (field.choices.empty()) return "a string";
  return "one of " + join(field.choices, ", ");
}

std::string settings_table(const Fields& fields, const Fields& usual) {
  Fields changed;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (field_text(fields[i]) != field_text(usual.at(i))) changed.push_back(fields[i]);
  }
  return settings_table(changed);
}

std::string settings_table(const Fields& fields) {
  constexpr std::size_t kWidth = 80;
  std::ostringstream out;
  std::string group, line;
  const auto finish = [&] {
    if (!line.empty()) out << line << '\n';
  };
  for (const Field& field : fields) {
    const std::string value = field_text(field);
    if (value.empty()) continue;
    const std::string item = field.name + " " + value;
    const bool new_group = field.group != group;
    if (new_group || line.size() + 3 + item.size() > kWidth) {
      finish();
      std::string heading = new_group ? field.group : "";
      heading.resize(14, ' ');
      line = "  " + heading + item;
      group = field.group;
    } else {
      line += "   " + item;
    }
  }
  finish();
  return out.str();
}

std::string sources_table(const Fields& fields, const Sources& sources) {
  std::vector<std::vector<std::string>> rows;
  std::string group;
  for (const Field& field : fields) {
    const std::string value = field_text(field);
    if (value.empty()) continue;
    if (field.group != group) rows.push_back({"  " + field.group, "", ""});
    group = field.group;
    rows.push_back({"    " + field.name, value, source_of(sources, field.name)});
  }
  return text_table(rows, "lll");
}

}  // namespace fovea
