// The names of types: two headers share none, and none is used for more than three things, so that
// a search for a name finds what it means. Read off the sources.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/source_tree.h"

using namespace fovea::test;

namespace {

constexpr std::size_t kMaxMeanings = 3;

using Tokens = std::vector<std::string>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The end of the string or character that starts at `at`.
std::size_t end_of_literal(const std::string& text, std::size_t at) {
  if (at > 0 && text[at - 1] == 'R') {
    const std::string mark = text.substr(at + 1, text.find('(', at) - at - 1);
    return text.find(")" + mark + "\"", at) + mark.size() + 2;
  }
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == text[at])
      return i + 1;
  }
  return text.size();
}

/// The end of the comment, literal or line of the preprocessor that starts at `at`; `at` itself
/// where code stands.
std::size_t end_of_no_code(const std::string& text, std::size_t at) {
  if (text.compare(at, 2, "/*") == 0) return text.find("*/", at) + 2;
  if (text.compare(at, 2, "//") == 0) return std::min(text.find('\n', at), text.size());
  if (text[at] == '"') return end_of_literal(text, at);
  if (text[at] == '\'') return end_of_literal(text, at);
  if (text[at] != '#') return at;
  std::size_t end = text.find('\n', at);
  while (end < text.size() && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return std::min(end, text.size());
}

/// Words, numbers and signs.
Tokens tokens_of(const std::string& text) {
  Tokens tokens;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t code = end_of_no_code(text, i);
    std::size_t end = code == i ? i + 1 : code;
    if (is_word(text[i])) {  // 1'000 is one number
      const bool is_number = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
      while (end < text.size() && (is_word(text[end]) || (is_number && text[end] == '\''))) ++end;
    } else if (text.compare(i, 2, "::") == 0) {
      end = i + 2;
    }
    const bool is_code = code == i && std::isspace(static_cast<unsigned char>(text[i])) == 0;
    if (is_code) tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

/// The index behind the bracket that closes the one at `at`.
std::size_t behind(const Tokens& tokens, std::size_t at, const char* open, const char* close) {
  for (int depth = 0; at < tokens.size(); ++at) {
    depth += tokens[at] == open ? 1 : tokens[at] == close ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return at;
}

/// The type that the tokens [begin, end) start to define, which a brace or a semicolon follows; ""
/// where they define none. A member or specialisation of a type is no name of its own.
std::string defined_type(const Tokens& tokens, std::size_t begin, std::size_t end) {
  const std::set<std::string> keys{"struct", "class", "enum", "union"};
  while (begin < end && tokens[begin] == "template") begin = behind(tokens, begin + 1, "<", ">");
  if (begin + 2 < end && tokens[begin] == "using" && tokens[begin + 2] == "=") {
    return tokens[begin + 1];
  }
  if (begin >= end || !keys.contains(tokens[begin]) || tokens[end] != "{") return "";
  while (begin < end && keys.contains(tokens[begin])) ++begin;
  while (begin < end && tokens[begin] == "[") begin = behind(tokens, begin, "[", "]");
  if (begin < end && tokens[begin] == "alignas") begin = behind(tokens, begin + 1, "(", ")");
  const bool ends = begin + 1 == end ||
                    (begin + 1 < end && (tokens[begin + 1] == ":" || tokens[begin + 1] == "final"));
  return ends && is_word(tokens[begin][0]) ? tokens[begin] : "";
}

enum class Scope { named, unnamed, other };  ///< namespaces, and whatever else braces hold

struct TypeName {
  std::string name;
  Scope scope = Scope::other;  ///< where it stands
};

std::vector<TypeName> types_in(const std::string& source) {
  const Tokens tokens = tokens_of(source);
  std::vector<TypeName> found;
  std::vector<Scope> open{Scope::named};
  for (std::size_t i = 0, begin = 0; i < tokens.size(); ++i) {
    const bool is_label = tokens[i] == ":" && i == begin + 1;  // public:
    if (tokens[i] != "{" && tokens[i] != "}" && tokens[i] != ";" && !is_label) continue;
    const std::string name = is_label ? "" : defined_type(tokens, begin, i);
    const bool is_local_alias = tokens[i] == ";" && open.back() == Scope::other;
    if (!name.empty() && !is_local_alias) found.push_back({name, open.back()});
    const bool is_namespace = begin < i && tokens[begin] == "namespace";
    if (tokens[i] == "{" && !is_namespace) open.push_back(Scope::other);
    if (tokens[i] == "{" && is_namespace) {
      const bool is_named = begin + 1 < i && open.back() == Scope::named;
      open.push_back(is_named ? Scope::named : Scope::unnamed);
    }
    if (tokens[i] == "}" && open.size() > 1) open.pop_back();
    begin = i + 1;
  }
  return found;
}

using Tree = std::map<std::string, std::string>;  ///< path -> source

/// Names that mean too much, with the files that define them.
std::vector<std::string> ambiguous_names(const Tree& tree) {
  std::map<std::string, std::multiset<std::string>> all;
  std::map<std::string, std::set<std::string>> shared;
  for (const auto& [path, source] : tree) {
    const bool is_header = path.ends_with(".h") || path.ends_with(".cuh");
    for (const TypeName& type : types_in(source)) {
      all[type.name].insert(path);
      if (is_header && type.scope == Scope::named) shared[type.name].insert(path);
    }
  }
  std::vector<std::string> found;
  for (const auto& [name, paths] : all) {
    if (shared[name].size() < 2 && paths.size() <= kMaxMeanings) continue;
    found.push_back(name + ":");
    for (const std::string& path : paths) found.back() += " " + path;
  }
  return found;
}

Tree sources() {
  Tree tree;
  for (const File& file : tree_files()) {
    const Room* room = room_of(file.path);
    if (file.is_code() && room != nullptr && room->name != "tests") {
      for (const std::string& line : file.lines) tree[file.path] += line + "\n";
    }
  }
  return tree;
}

}  // namespace

TEST_CASE("definitions of types are found, and nothing else") {
  const std::vector<TypeName> found = types_in(R"(
    #include "struct A {"  // struct B {
    namespace a::b {
    struct C;  struct C f() { return {'{', 1'000, "struct D {"}; }
    template <class T, class U = std::vector<T>> class alignas(16) E final : public C {
     public: enum class F : int { g };  struct E::H { };  using I = int;
    };
    using J = C;
    namespace { struct [[nodiscard]] K { }; }
    template <> struct E<int> { };
    })");
  std::string text;
  for (const TypeName& type : found) {
    text += type.name + std::to_string(static_cast<int>(type.scope)) + " ";
  }
  CHECK(text == "E0 F2 J0 K1 ");
}

TEST_CASE("a name with two meanings in headers, or four anywhere, is found") {
  CHECK(ambiguous_names({{"a.h", "struct A {};"}, {"b.cuh", "enum A { x };"}}).size() == 1);
  CHECK(ambiguous_names({{"a.h", "using A = int;"}, {"b.cpp", "struct A {};"}}).empty());
  Tree tree{{"a.h", "struct B { struct A {}; };"}, {"b.h", "struct C { enum A { x }; };"}};
  tree["c.cpp"] = "namespace { class A {}; }";
  CHECK(ambiguous_names(tree).empty());
  tree["d.cu"] = "void f() { struct A {}; }";
  CHECK(ambiguous_names(tree) == std::vector<std::string>{"A: a.h b.h c.cpp d.cu"});
}

TEST_CASE("a type's name has one meaning in headers and three at most") {
  const Tree tree = sources();
  CHECK(tree.size() > 400);
  for (const std::string& name : ambiguous_names(tree)) FAIL_CHECK(name);
}
