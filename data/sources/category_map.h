// Which classes of a model make up a category: "cat: 281 282 283".
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct Category {
  std::string name;  ///< as it may be shown: see visible_text()
  std::vector<std::int64_t> classes;
};

/// Lines "name: index index ...", empty ones and those that begin with # left out. Throws Error,
/// beginning with `where`, on other lines, on a name or an index that stands there twice, on
/// fewer than two categories, and on indices that are not those of `classes` classes.
[[nodiscard]] std::vector<Category> parse_category_map(std::string_view text,
                                                       const std::string& where,
                                                       std::int64_t classes);
/// Every class a category of its own.
[[nodiscard]] std::vector<Category> categories_of(const std::vector<std::string>& class_names);

[[nodiscard]] std::vector<std::string> category_names(const std::vector<Category>& categories);

}  // namespace fovea
