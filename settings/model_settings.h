// Which model is trained, and the settings of models that have a flag.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "models/task_kind.h"

namespace fovea {

/// Texts by configuration key: "peg_kernel" is --peg-kernel. All are empty at first: then the
/// registry's values hold. A model that does not know a setting refuses it by name when it is
/// built.
class ModelSettings {
 public:
  ModelSettings();

  /// A field for each setting, bound to this object, under headings by model family; or for those
  /// that models of that task may have.
  void add_fields(Fields& fields);
  void add_fields(Fields& fields, TaskKind task);

  /// Throws when there is no such setting.
  std::string& operator[](std::string_view key);

  /// What was set, as a JSON object for make_model(). Throws UsageError.
  [[nodiscard]] nlohmann::json overrides() const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

struct ModelChoice {
  std::string name = "vit_tiny_patch4_32";  ///< in the registry
  ModelSettings settings{};
  double drop_path = 0;  ///< of the last block's branches
  double drop = 0;       ///< of what the head reads
  double pos_drop_rate = 0, proj_drop_rate = 0, attn_drop_rate = 0;

  /// What differs from the registry, as a JSON object for make_model(). Throws UsageError.
  [[nodiscard]] nlohmann::json overrides() const;
};
/// Of models of that task. `model` must live as long as the fields are used.
void add_fields(Fields& fields, ModelChoice& model, TaskKind task);

}  // namespace fovea
