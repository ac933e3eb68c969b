// Locates the syntax error and guesses the cause from the text around it.
#include "engine/base/json_syntax.h"

#include <algorithm>
#include <regex>

#include "engine/base/compressed.h"
#include "engine/base/json.h"
#include "engine/base/lists.h"

namespace fovea {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// Whether the text starts with a name and a colon, where JSON has a brace.
bool is_yaml(std::string_view text) {
  const std::string start(text.substr(0, 2000));
  static const std::regex form(R"(^(\s*(#[^\n]*)?\n)*(---|%YAML|[A-Za-z_][\w-]*[ \t]*:(\s|$)))");
  return std::regex_search(start, form, std::regex_constants::match_continuous);
}

/// Whether the text starts with "name =" or "[section]" on a line of its own.
bool is_toml(std::string_view text) {
  const std::string start(text.substr(0, 2000));
  static const std::regex form(
      R"(^(\s*(#[^\n]*)?\n)*([A-Za-z_][\w.-]*[ \t]*=|\[[A-Za-z_][\w.-]*\][ \t\r]*(\n|$)))");
  return std::regex_search(start, form, std::regex_constants::match_continuous);
}

/// Whether every other byte of the start is zero, as in Latin letters of two bytes, or a byte-order
/// mark says so.
bool is_utf16(std::string_view text) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return true;
  return text.size() >= 4 &&
         ((text[0] == '\0' && text[2] == '\0') || (text[1] == '\0' && text[3] == '\0'));
}

std::string place_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) +
         ", column " + std::to_string(at - begin + 1);
}

/// The likely cause, judged from the character at `at`; empty when unclear.
std::string meaning_of(std::string_view text, std::size_t at) {
  const char found = text[at];
  const std::size_t previous = text.substr(0, at).find_last_not_of(kBlanks);
  const bool closes = found == '}' || found == ']';
  if (closes && previous != std::string_view::npos && text[previous] == ',') {
    return place_of(text, previous) + ": a comma before " + found +
           ", expected none after the last item";
  }
  if (found == '"' && at > 0) {  // the end of a text whose opening quote is the mistake
    const std::size_t begin = text.rfind('"', at - 1);
    return place_of(text, std::min(begin, at)) +
           ": got a string, expected a comma or a colon before it";
  }
  const std::string context = place_of(text, at) + ": got ";
  if (found == '#') return context + "#, expected // before a comment";
  if (found == '\'') return context + "', expected names and strings in \" \"";
  if (found == 'T' || found == 'F' || found == 'N') {
    return context + found + ", expected true, false or null in lower case, or a string in \" \"";
  }
  return "";
}

}  // namespace

std::string other_format(std::string_view start) {
  if (const std::string compression = compression_of(start); !compression.empty())
    return compression;
  if (is_utf16(start)) {
    return "is UTF-16, as some editors and shells of Windows write it, expected UTF-8; iconv -f "
           "UTF-16 -t UTF-8 args.json > utf8.json converts args.json";
  }
  if (is_yaml(start)) {
    return "is YAML, expected JSON such as {\"batch-size\": 64}; python3 -c 'import json, yaml; "
           "print(json.dumps(yaml.safe_load(open(\"args.yaml\"))))' converts args.yaml to JSON";
  }
  if (is_toml(start)) {
    return "is TOML, expected JSON such as {\"batch-size\": 64}; python3 -c 'import json, tomllib; "
           "print(json.dumps(tomllib.load(open(\"args.toml\", \"rb\"))))' converts args.toml to "
           "JSON";
  }
  return "";
}

std::string syntax_complaint(std::string_view text, std::size_t byte) {
  const std::size_t mark = text.size() - without_bom(text).size();
  text.remove_prefix(mark);
  byte -= std::min(byte, mark);
  const std::string other = other_format(text);
  if (!other.empty()) return other;
  if (text.find_first_not_of(kBlanks) == std::string_view::npos) {
    return "got nothing, expected a JSON object of settings";
  }
  if (byte == 0 || byte > text.size()) {
    return place_of(text, text.size()) + ": the text ends here, expected the rest of a JSON object";
  }
  const std::string meaning = meaning_of(text, byte - 1);
  if (!meaning.empty()) return meaning;
  return place_of(text, byte - 1) + ": got " + in_quotes(text.substr(byte - 1, 1)) +
         ", which is not valid JSON at this position";
}

}  // namespace fovea
