// The settings of models that have a flag. All are empty at first: then the registry's values hold.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace fovea {

/// Texts by configuration key: "peg_kernel" is --peg-kernel. A model that does
/// not know a setting refuses it by name when it is built.
class ModelSettings {
 public:
  ModelSettings();

  /// A field for each setting, bound to this object, under headings by model family.
  void add_fields(Fields& fields);

  /// Throws when there is no such setting.
  std::string& operator[](std::string_view key);

  /// What was set, as a JSON object for make_model(). Throws UsageError.
  [[nodiscard]] nlohmann::json overrides() const;

  /// The flags' names.
  [[nodiscard]] static std::vector<std::string> names();

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace fovea
