// Which output of a detector stands for which category of the annotation files.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea {

/// By default a category's number, the label of its objects and the output of a model, is its id in
/// the files. With --compact-ids categories have the numbers 1 to n, by ascending id.
class CategoryIds {
 public:
  CategoryIds() = default;  ///< numbers are the ids
  /// Of the categories 1 to n: ascending. Throws Error on others.
  explicit CategoryIds(std::vector<std::int64_t> ids);

  [[nodiscard]] bool are_compact() const { return !ids_.empty(); }
  [[nodiscard]] const std::vector<std::int64_t>& ids() const { return ids_; }
  /// The number of a file's category; -1 if it has none.
  [[nodiscard]] std::int64_t number_of(std::int64_t id) const;
  /// The id in the files of a number, -1 for one without a category.
  [[nodiscard]] std::int64_t id_of(std::int64_t number) const;

 private:
  std::vector<std::int64_t> ids_;
};

}  // namespace fovea
