// Which classes of a model make up a category: "cat: 281 282 283", or their names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/class_match.h"

namespace fovea {

struct Category {
  std::string name;  ///< as it may be shown: see visible_text()
  std::vector<std::int64_t> classes;
};

/// Lines "name: class class ...", empty ones and those that begin with # left out. A class is one
/// of the model's names or, where none is called so, its index; with commas between them names may
/// hold blanks. Throws Error, beginning with `where`, on other lines, on a name or a class that
/// stands there twice, on fewer than two categories, and on classes that the model does not have.
[[nodiscard]] std::vector<Category> parse_category_map(std::string_view text,
                                                       const std::string& where,
                                                       const ModelClasses& model);
/// Every class a category of its own.
[[nodiscard]] std::vector<Category> categories_of(const std::vector<std::string>& class_names);

[[nodiscard]] std::vector<std::string> category_names(const std::vector<Category>& categories);

}  // namespace fovea
