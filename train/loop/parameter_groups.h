// Which of a model's parameters learn from which loss.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/scope.h"
#include "optim/optimizer.h"

namespace fovea {

/// Parameters that learn from a loss of their own, by an optimizer of their own.
struct ParameterGroup {
  std::string name{};                           ///< in the state of a run; the first needs none
  double lr_scale = 1;                          ///< of the run's rate
  std::optional<OptimizerOptions> optimizer{};  ///< instead of the run's
};

/// All trainable parameters, each in one group.
struct ParameterSplit {
  std::vector<ParameterGroup> groups{{}};
  /// A parameter's group, by its place in `groups`; empty: all are in the first.
  std::function<std::size_t(const Parameter&)> group_of{};

  [[nodiscard]] std::size_t of(const Parameter& parameter) const {
    return group_of ? group_of(parameter) : 0;
  }
};

}  // namespace fovea
