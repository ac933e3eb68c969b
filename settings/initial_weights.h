// What a run's model starts with, and what of it stays as it is.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/names.h"
#include "settings/position_tables.h"

namespace fovea {

enum class InitialValues { timm, jax };
template <>
inline constexpr auto kNames<InitialValues> = std::to_array<Named<InitialValues>>(
    {{InitialValues::timm, "timm"}, {InitialValues::jax, "jax"}});

/// Applied in this order.
struct InitialWeights {
  InitialValues values = InitialValues::timm;
  std::string finetune{};     ///< a file or folder of weights: all but the head's, at any size
  std::string checkpoint{};   ///< the same of exactly this model
  std::string weights_key{};  ///< of such a file, see read_weights()
  PositionTableOptions positions{};
  std::string pegs{};  ///< a file of weights whose position encoding generators are taken
  std::optional<double> head_scale{}, head_bias{};
};

/// `options` must live as long as the fields are used.
void add_fields(Fields& fields, InitialWeights& options);
/// Of models with blocks as ViT's and heads that are read: their values, PEGs and heads.
void add_classifier_fields(Fields& fields, InitialWeights& options);
/// Throws UsageError where options do not fit each other.
void check_options(const InitialWeights& options);

/// Parameters that are not trained.
struct FrozenOptions {
  std::string patterns{};      ///< regular expressions, separated by blanks: names with a match
  bool all_but_heads = false;  ///< a linear probe

  /// Throws UsageError on one that is not a regular expression.
  [[nodiscard]] std::vector<std::regex> expressions() const;
};
void add_fields(Fields& fields, FrozenOptions& options);
void add_probe_fields(Fields& fields, FrozenOptions& options);
void check_options(const FrozenOptions& options);

}  // namespace fovea
