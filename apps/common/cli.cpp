// Conversion of fields to CLI11 options and back to texts; engine/base/fields.h checks the values.
#include "apps/common/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "apps/common/app.h"
#include "apps/common/help_format.h"
#include "apps/common/version.h"

namespace fovea {
namespace {

bool is_switch(const Field& field) { return field.yes_no || field.holds<bool>(); }
bool is_list(const Field& field) {
  return field.holds<Field::Numbers>() || field.holds<Field::Texts>();
}

CLI::Option* add_field(CLI::App& app, const Field& field) {
  const std::string flag = "--" + field.name;
  CLI::Option* option = is_switch(field) ? app.add_flag(flag + ",!--no-" + field.name, field.help)
                                         : app.add_option(flag, field.help);
  option->group(field.group)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  if (is_list(field)) {
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    option->expected(1, field.count == 0 ? 64 : static_cast<int>(field.count));
  }
  if (is_switch(field)) return option;
  std::string type = field.choices.empty() ? "" : "{";
  for (const std::string& choice : field.choices) {
    type.append(type.size() == 1 ? "" : ",").append(choice);
  }
  option->type_name(type.empty() ? "X" : type + "}");
  const std::string value = field_text(field);
  if (!value.empty()) option->default_str(value);
  return option;
}

class HelpFormat : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option(const CLI::Option* option, bool positional) const override {
    return help_entry(make_option_name(option, positional) + make_option_opts(option),
                      make_option_desc(option));
  }
  [[nodiscard]] std::string make_description(const CLI::App* app) const override {
    return help_lines(CLI::Formatter::make_description(app));
  }
};

/// Normalises a word: --batch_size=4 and -b=4 become --batch-size=4; values are unchanged.
std::string normalised(const std::string& word, const Fields& fields) {
  const std::size_t dashes = word.starts_with("--") ? 2 : word.starts_with('-') ? 1 : 0;
  const std::size_t end = std::min(word.find('='), word.size());
  const std::string name = word.substr(dashes, end - dashes);
  if (dashes == 0 || name.empty()) return word;
  const Field* const field = lookup_field(fields, name);
  if (field != nullptr && (dashes == 2 || field->name != name)) {
    return "--" + field->name + word.substr(end);
  }
  std::string text = word;
  if (dashes == 2)
    std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return text;
}

/// Normalised arguments in reverse order, as CLI11 expects.
std::vector<std::string> normalised(int argc, char** argv, const Fields& fields) {
  std::vector<std::string> words;
  for (int i = argc - 1; i >= 1; --i) words.push_back(normalised(argv[i], fields));
  return words;
}

/// Throws for the first unexpected word.
void refuse_rest(std::vector<std::string> rest, const CommandSpec& spec) {
  std::erase(rest, "--");  // arguments follow it
  for (const std::string& word : rest) {
    if (!word.starts_with('-')) continue;
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    const std::string name = word.substr(dashes, word.find('=') - dashes);
    static_cast<void>(find_field(spec.fields, name, word, spec.others));
    throw UsageError(word + ": use --" + name);
  }
  if (!rest.empty()) throw UsageError("unexpected argument " + rest.front());
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv, const CommandSpec& spec) {
  CLI::App app(spec.description, spec.name);
  app.allow_extras();
  app.formatter(std::make_shared<HelpFormat>());
  app.set_version_flag("--version", version_text);
  std::string pattern;
  CLI::Option* listing = nullptr;
  if (!spec.models.all.empty()) {
    listing = app.add_option("--list-models", pattern,
                             "list common model names, or all that match a PATTERN such as "
                             "'*clip*'; `all` lists every name");
    listing->expected(0, 1)->type_name("[PATTERN]")->group(app.get_help_ptr()->get_group());
  }
  std::vector<std::pair<const Field*, CLI::Option*>> options;
  for (const Field& field : spec.fields) options.emplace_back(&field, add_field(app, field));
  CommandLine line;
  if (!spec.arguments.empty()) {
    app.add_option("arguments", line.arguments, spec.arguments)->type_name("");
  }
  try {
    app.parse(normalised(argc, argv, spec.fields));
  } catch (const CLI::CallForHelp&) {
    throw HelpRequest{app.help()};
  } catch (const CLI::CallForVersion&) {
    throw HelpRequest{version_text() + "\n"};
  } catch (const CLI::Error& error) {
    throw UsageError(error.what());
  }
  refuse_rest(app.remaining(), spec);
  if (listing != nullptr && listing->count() > 0) {
    throw HelpRequest{
        model_list(spec.models, listing->results().empty() ? "" : listing->results().back())};
  }
  for (const auto& [field, option] : options) {
    if (option->count() == 0) continue;
    const char* const separator = field->holds<Field::Texts>() ? " " : ",";
    std::string text;
    for (const std::string& part : option->results()) {
      text = is_list(*field) && !text.empty() ? text + separator + part : part;
    }
    line.settings.push_back({field->name, text});
  }
  return line;
}

std::vector<std::string> parse_into_fields(int argc, char** argv, const CommandSpec& spec) {
  CommandLine line = parse_command_line(argc, argv, spec);
  set_fields(spec.fields, line.settings);
  return std::move(line.arguments);
}

}  // namespace fovea
