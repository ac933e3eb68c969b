// Category maps: the classes of a model that make up a category, "cat: 281 282 283" or by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/classes/class_match.h"

namespace fovea {

struct Category {
  std::string name;  ///< safe to print: see visible_text()
  std::vector<std::int64_t> classes;
};

/// Parses lines "name: class class ..."; empty lines and lines that start with # are ignored. A
/// class is a class name of the model or, if there is none, an index; names with blanks must be
/// separated by commas. Throws Error, starting with `context`, on other lines, on duplicate names
/// or classes, on fewer than two categories, and on classes that the model does not have.
[[nodiscard]] std::vector<Category> parse_category_map(std::string_view text,
                                                       const std::string& context,
                                                       const ModelClasses& model);
/// One category per class.
[[nodiscard]] std::vector<Category> categories_of(const std::vector<std::string>& class_names);

[[nodiscard]] std::vector<std::string> category_names(const std::vector<Category>& categories);

}  // namespace fovea
