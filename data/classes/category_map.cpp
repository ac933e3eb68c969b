// Parser of category maps.
#include "data/classes/category_map.h"

#include <map>
#include <set>

#include "engine/base/error.h"
#include "engine/base/lists.h"
#include "engine/base/names.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

/// Splits "281 282" or, with commas, "281, Egyptian cat".
std::vector<std::string> classes_in(const std::string& text) {
  return text.find(',') == std::string::npos ? split_words(text) : comma_parts(text);
}

Category parse_line(const std::string& line, const std::string& context,
                    const ModelClasses& model) {
  const std::size_t colon = line.rfind(':');
  check(colon != std::string::npos, context, ": got \"", visible_text(line),
        "\", expected \"name: index index ...\"");
  Category category{visible_text(join(split_words(line.substr(0, colon)), " ")), {}};
  check(!category.name.empty(), context, ": got \"", visible_text(line),
        "\", expected a name before the colon");
  for (const std::string& word : classes_in(line.substr(colon + 1))) {
    const auto named = find_class(model, visible_text(word)), number = parse_integer(word);
    check(named || number, context, ": got \"", visible_text(word), "\" for ", category.name,
          ", expected the name of a class of the model or its number",
          did_you_mean(word, model.names));
    const std::int64_t index = named ? *named : *number;
    check(index >= 0 && index < model.count, context, ": got class ", index, " for ", category.name,
          "; the model has ", model.count, " classes, 0 to ", model.count - 1);
    category.classes.push_back(index);
  }
  check(!category.classes.empty(), context, ": ", category.name,
        " has no classes, expected \"name: index index ...\"");
  return category;
}

}  // namespace

std::vector<Category> parse_category_map(std::string_view text, const std::string& context,
                                         const ModelClasses& model) {
  std::vector<Category> categories;
  std::set<std::string> names;
  std::map<std::int64_t, std::string> owners;
  for (const std::string& line : list_entries(text, context)) {
    if (split_words(line).empty() || line.starts_with('#')) continue;
    Category category = parse_line(line, context, model);
    check(names.insert(category.name).second, context, ": ", category.name, " appears twice");
    for (const std::int64_t index : category.classes) {
      const auto [owner, is_new] = owners.emplace(index, category.name);
      check(is_new, context, ": class ", index, " is in ", owner->second, " and in ", category.name,
            ", expected only one of them");
    }
    categories.push_back(std::move(category));
  }
  check(categories.size() >= 2, context, ": names ", categories.size(),
        " categories, expected two or more, one per line");
  return categories;
}

std::vector<Category> categories_of(const std::vector<std::string>& class_names) {
  std::vector<Category> categories;
  for (const std::string& name : class_names)
    categories.push_back({name, {static_cast<std::int64_t>(categories.size())}});
  return categories;
}

std::vector<std::string> category_names(const std::vector<Category>& categories) {
  std::vector<std::string> names;
  for (const Category& category : categories) names.push_back(category.name);
  return names;
}

}  // namespace fovea
