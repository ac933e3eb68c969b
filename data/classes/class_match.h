// Matches the classes of a data set to the classes of a model, by name if both have names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/base/names.h"

namespace fovea {

/// A model's class names, in the order of its outputs.
struct ModelClasses {
  std::int64_t count = 0;
  std::vector<std::string> names{};   ///< display names; empty: the model does not name its classes
  std::vector<std::string> labels{};  ///< alternative names of the same classes, tried first
};

/// A data set's class names.
struct DataClasses {
  std::vector<std::string> names;
  /// Whether the user declared the classes to be in the model's order, as a class map does.
  bool in_label_order = false;
};

/// The criterion by which classes were matched.
enum class MatchedBy {
  name,    ///< the names on both sides
  number,  ///< the data's names are numbers: the model's labels
  order,   ///< position only, when a side has no names or a class map says so
};
template <>
inline constexpr auto kNames<MatchedBy> = std::to_array<Named<MatchedBy>>(
    {{MatchedBy::name, "name"}, {MatchedBy::number, "number"}, {MatchedBy::order, "order"}});

struct ClassMatch {
  MatchedBy by = MatchedBy::name;
  /// For each class of the data, the model's label; all distinct.
  std::vector<std::int64_t> labels{};
  std::int64_t model_classes = 0;

  /// A summary such as "2 of 3 by name".
  [[nodiscard]] std::string text() const;
  /// Whether the model's classes equal the data's, in the same order.
  [[nodiscard]] bool is_identity() const;
};

/// The name of a class that the model does not name: "class 7".
[[nodiscard]] std::string numbered_class(std::int64_t label);
/// The model's class for a name in the data, by the rules of find_match(); empty if there is none.
[[nodiscard]] std::optional<std::int64_t> find_class(const ModelClasses& model,
                                                     const std::string& name);

/// A name matches if it equals a label or name of the model, a synset id ("n01440764" in "tench
/// (n01440764)") or the words before it, on either side, and if it identifies a single class. If
/// all names are numbers, their values are compared. Model names 0, 1, ... count as no names.
/// Empty if some of the data's classes do not match.
[[nodiscard]] std::optional<ClassMatch> find_match(const ModelClasses& model,
                                                   const DataClasses& data);
/// The same, but throws Error if some classes do not match. The message starts with `context`,
/// shows the first name without a match and suggests a remedy.
[[nodiscard]] ClassMatch match_classes(const ModelClasses& model, const DataClasses& data,
                                       const std::string& context);
/// A notice for the user, or "": classes that are missing, classes in a different order, and
/// classes whose names were not compared.
[[nodiscard]] std::string match_notice(const ModelClasses& model, const DataClasses& data,
                                       const ClassMatch& match);

/// A data set with a model's labels.
struct MatchedImages {
  /// The images with the model's classes; unnamed classes take the data's names.
  std::shared_ptr<const Dataset> images;
  std::shared_ptr<const Dataset> own;  ///< unchanged, with the data set's labels
  DataClasses data;                    ///< the data's names for the matched classes
  ClassMatch match;
};
/// Classes without images need not match. Throws like match_classes().
[[nodiscard]] MatchedImages match_images(const std::shared_ptr<const Dataset>& images,
                                         const ModelClasses& model, bool in_label_order,
                                         const std::string& context);

}  // namespace fovea
