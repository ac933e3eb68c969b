// The choice of the model, and those of its settings that have a flag.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/fields.h"
#include "models/task_kind.h"

namespace fovea {

/// Setting texts by configuration key: "peg_kernel" is --peg-kernel. All are empty by default,
/// which keeps the registry's values. When a model is built, it rejects unsupported settings by
/// name.
class ModelSettings {
 public:
  ModelSettings();

  /// Adds one field per setting, bound to this object, under one heading per model family. With a
  /// task, only the settings of its models.
  void add_fields(Fields& fields, std::optional<TaskKind> task = {});

  [[nodiscard]] bool contains(std::string_view key) const { return texts_.contains(key); }
  /// Throws if there is no such setting.
  std::string& operator[](std::string_view key);

  /// The settings that are not empty, as a JSON object for make_model(). Throws UsageError.
  [[nodiscard]] nlohmann::json overrides() const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

struct ModelChoice {
  std::string name = "vit_tiny_patch4_32";  ///< registry name
  ModelSettings settings{};
  double drop_path = 0;  ///< drop path rate of the last block's branches
  double drop = 0;       ///< dropout rate before the head
  double pos_drop_rate = 0, proj_drop_rate = 0, attn_drop_rate = 0;

  /// The settings that differ from the registry's, as a JSON object for make_model(). Throws
  /// UsageError.
  [[nodiscard]] nlohmann::json overrides() const;
};
/// Adds the fields for models of that task. `model` must outlive the fields.
void add_fields(Fields& fields, ModelChoice& model, TaskKind task);

}  // namespace fovea
