// Numbers of categories.
#include "data/sources/boxes/category_ids.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace fovea {

CategoryIds::CategoryIds(std::vector<std::int64_t> ids) : ids_(std::move(ids)) {
  const auto falls = [](std::int64_t a, std::int64_t b) { return a >= b; };
  check(std::adjacent_find(ids_.begin(), ids_.end(), falls) == ids_.end(),
        "category ids: expected ascending ones");
}

std::int64_t CategoryIds::number_of(std::int64_t id) const {
  if (!are_compact()) return id;
  const auto place = std::lower_bound(ids_.begin(), ids_.end(), id);
  return place != ids_.end() && *place == id ? place - ids_.begin() + 1 : -1;
}

std::int64_t CategoryIds::id_of(std::int64_t number) const {
  if (!are_compact()) return number;
  const bool has_one = number >= 1 && number <= std::ssize(ids_);
  return has_one ? ids_[static_cast<std::size_t>(number - 1)] : -1;
}

}  // namespace fovea
