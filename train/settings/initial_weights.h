// Options for a run's initial weights and for parameters that stay frozen.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "engine/base/fields.h"
#include "engine/base/names.h"
#include "train/settings/position_tables.h"

namespace fovea {

enum class InitialValues { timm, jax };
template <>
inline constexpr auto kNames<InitialValues> = std::to_array<Named<InitialValues>>(
    {{InitialValues::timm, "timm"}, {InitialValues::jax, "jax"}});

/// Sources of initial weights, applied in this order.
struct InitialWeights {
  InitialValues values = InitialValues::timm;
  std::string finetune{};     ///< weights file or folder; the head may differ, any grid
  std::string checkpoint{};   ///< weights file or folder of exactly this model
  std::string weights_key{};  ///< set of weights in such a file, see read_checkpoint()
  PositionTableOptions positions{};
  std::string backbone{};  ///< weights file; only a detector's backbone is loaded
  std::string pegs{};      ///< weights file; only its position encoding generators are loaded
  std::optional<double> head_scale{}, head_bias{};
};

/// Adds the fields of all models. `options` must outlive the fields.
void add_fields(Fields& fields, InitialWeights& options);
/// Adds the fields of classifiers with ViT-style blocks: attention values, PEGs and heads.
void add_classifier_fields(Fields& fields, InitialWeights& options);
/// Adds the field of detectors: their backbone's weights.
void add_detector_fields(Fields& fields, InitialWeights& options);
/// Throws UsageError if options contradict each other.
void check_options(const InitialWeights& options);

/// Parameters that are not trained.
struct FrozenOptions {
  std::string patterns{};      ///< regular expressions separated by blanks; freeze matching names
  bool all_but_heads = false;  ///< linear probing: train only the heads

  /// Throws UsageError if a pattern is not a regular expression.
  [[nodiscard]] std::vector<std::regex> expressions() const;
};
void add_fields(Fields& fields, FrozenOptions& options);
void add_probe_fields(Fields& fields, FrozenOptions& options);
void check_options(const FrozenOptions& options);

}  // namespace fovea
