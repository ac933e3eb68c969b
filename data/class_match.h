// Which class of a data set is which of a model's: by their names where both have names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "data/dataset.h"

namespace fovea {

/// What a model calls its classes, in the order of its outputs.
struct ModelClasses {
  std::int64_t count = 0;
  std::vector<std::string> names{};   ///< as they are shown; empty: it does not name them
  std::vector<std::string> labels{};  ///< other names of the same classes, which come first
};

/// What a data set calls its classes.
struct DataClasses {
  std::vector<std::string> names;
  /// Somebody said that they stand in the order of the model's: a class map does.
  bool in_label_order = false;
};

/// What told which class is which.
enum class MatchedBy {
  name,    ///< both sides' names
  number,  ///< the data's names are numbers, which are the model's labels
  order,   ///< nothing but their places, where a side has no names or a class map says so
};
template <>
inline constexpr auto kNames<MatchedBy> = std::to_array<Named<MatchedBy>>(
    {{MatchedBy::name, "name"}, {MatchedBy::number, "number"}, {MatchedBy::order, "order"}});

struct ClassMatch {
  MatchedBy by = MatchedBy::name;
  std::vector<std::int64_t> labels{};  ///< of each class of the data: the model's; no two alike
  std::int64_t model_classes = 0;

  /// "2 of 3 by name".
  [[nodiscard]] std::string text() const;
  /// Whether the model's classes are the data's, in the same order.
  [[nodiscard]] bool is_identity() const;
};

/// What a class is called where the model does not name it: "class 7".
[[nodiscard]] std::string numbered_class(std::int64_t label);
/// The model's class that the data call so, as find_match() knows names; empty where none is.
[[nodiscard]] std::optional<std::int64_t> find_class(const ModelClasses& model,
                                                     const std::string& name);

/// A name is known where it is a model's label or name as it stands, its synset id ("n01440764" of
/// "tench (n01440764)") or the words before that, on either side, and of one class alone. Names
/// that are all numbers are equal where the numbers are. Names of a model that are 0, 1, ... say
/// no more than none. Empty where some of the data's classes are not known.
[[nodiscard]] std::optional<ClassMatch> find_match(const ModelClasses& model,
                                                   const DataClasses& data);
/// The same; throws Error, beginning with `where`, with the first name that is not known and what
/// to do.
[[nodiscard]] ClassMatch match_classes(const ModelClasses& model, const DataClasses& data,
                                       const std::string& where);
/// What a user should know of it, or "": classes that are missing, that stand in another order, and
/// those whose names were not asked.
[[nodiscard]] std::string match_notice(const ModelClasses& model, const DataClasses& data,
                                       const ClassMatch& match);

/// A data set under a model's labels.
struct MatchedImages {
  std::shared_ptr<const Dataset> images;  ///< with the model's classes; unnamed ones as in the data
  std::shared_ptr<const Dataset> own;     ///< as they are, with the data set's labels
  DataClasses data;                       ///< what it calls its classes, of those matched
  ClassMatch match;
};
/// Classes without images need not be known. Throws as match_classes().
[[nodiscard]] MatchedImages match_images(const std::shared_ptr<const Dataset>& images,
                                         const ModelClasses& model, bool in_label_order,
                                         const std::string& where);

}  // namespace fovea
